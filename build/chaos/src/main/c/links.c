/*
 * links: a network namespace for each of COUNT nodes, connected with this one by links that can be slowed and cut.
 *
 *   links COUNT
 *
 * Port 0 is the namespace that the program was started in, ports 1 to COUNT are new ones. Each has a TUN device with the address
 * 10.89.0.(port + 1)/24, and its loopback device is up. All packets between these addresses pass through this process. When all
 * is set up, it prints
 *
 *   ready FD...      the descriptors of the namespaces 1 to COUNT: enter one by  nsenter --net=/proc/PID/fd/FD
 *
 * and then answers lines on standard input with "ok" or "no":
 *
 *   link FROM TO DELAY-MS JITTER-MS LOST-OF-1000 CUT     the fate of packets in this direction from now on, including those in transit
 *   lost                                                 the number of packets dropped by cut links, and by those that lose some
 *
 * A packet is late by the delay, and by up to the jitter more or less. Which ones is drawn by the order in which packets of all links come.
 * It ends with standard input. A namespace and its device vanish when no process is left in it. Packets on a link stay in
 * order. Bounds: COUNT up to 8; 8,192 packets in transit on a link, a further one is dropped, as on a full queue; IPv4 only.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { PORTS_MAX = 9, UNDER_WAY_MAX = 8192, PACKET_MAX = 2048, BURST = 64, HEADER = 20, ADDRESS_AT = 16 };

static const uint32_t NETWORK = 0x0a590000; /* 10.89.0.0 */
static const char DEVICE[] = "dlchaos0";

struct packet {
    struct packet *next;
    int64_t due_ns;
    int length;
    unsigned char bytes[];
};

struct link {
    struct packet *oldest, *newest;
    int under_way;
    int64_t delay_ns, jitter_ns;
    int lost_of_1000;
    int cut;
};

static struct link links[PORTS_MAX][PORTS_MAX];
static int tuns[PORTS_MAX];
static int ports;
static uint64_t lost;
static uint64_t drawn = 88172645463325252u;

static void fail(const char *what) {
    fprintf(stderr, "links: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Below a bound; xorshift64. */
static uint64_t draw(uint64_t bound) {
    drawn ^= drawn << 13;
    drawn ^= drawn >> 7;
    drawn ^= drawn << 17;
    return drawn % bound;
}

static void up(int control, const char *device) {
    struct ifreq request = {0};
    strcpy(request.ifr_name, device);
    if (ioctl(control, SIOCGIFFLAGS, &request)) fail(device);
    request.ifr_flags |= IFF_UP;
    if (ioctl(control, SIOCSIFFLAGS, &request)) fail(device);
}

static void set_address(int control, unsigned long what, uint32_t address) {
    struct ifreq request = {0};
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(address)};
    strcpy(request.ifr_name, DEVICE);
    memcpy(&request.ifr_addr, &in, sizeof in);
    if (ioctl(control, what, &request)) fail("address");
}

/* Makes the device of a port in the current namespace of this thread. */
static int open_tun(int port) {
    int tun = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (tun < 0) fail("/dev/net/tun");
    struct ifreq request = {0};
    strcpy(request.ifr_name, DEVICE);
    request.ifr_flags = IFF_TUN | IFF_NO_PI;
    if (ioctl(tun, TUNSETIFF, &request)) fail("TUN device");
    int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (control < 0) fail("socket");
    set_address(control, SIOCSIFADDR, NETWORK + (uint32_t)port + 1);
    set_address(control, SIOCSIFNETMASK, 0xffffff00);
    strcpy(request.ifr_name, DEVICE);
    request.ifr_qlen = UNDER_WAY_MAX;
    if (ioctl(control, SIOCSIFTXQLEN, &request)) fail("queue of the device");
    up(control, DEVICE);
    up(control, "lo");
    close(control);
    return tun;
}

static void take(struct link *link, const unsigned char *bytes, int length) {
    if (link->cut || (link->lost_of_1000 && draw(1000) < (uint64_t)link->lost_of_1000)) {
        lost++;
        return;
    }
    if (link->under_way == UNDER_WAY_MAX) return;
    struct packet *packet = malloc(sizeof *packet + (size_t)length);
    if (!packet) fail("memory");
    memcpy(packet->bytes, bytes, (size_t)length);
    packet->length = length;
    packet->due_ns = now_ns() + link->delay_ns;
    if (link->jitter_ns) packet->due_ns += (int64_t)draw((uint64_t)link->jitter_ns * 2) - link->jitter_ns;
    packet->next = NULL;
    if (link->newest) link->newest->next = packet;
    else link->oldest = packet;
    link->newest = packet;
    link->under_way++;
}

static struct packet *remove_oldest(struct link *link) {
    struct packet *packet = link->oldest;
    link->oldest = packet->next;
    if (!link->oldest) link->newest = NULL;
    link->under_way--;
    return packet;
}

static void read_port(int from) {
    unsigned char bytes[PACKET_MAX];
    for (int i = 0; i < BURST; i++) {
        int length = (int)read(tuns[from], bytes, sizeof bytes);
        if (length < 0) return;
        if (length < HEADER || bytes[0] >> 4 != 4) continue;
        uint32_t address;
        memcpy(&address, bytes + ADDRESS_AT, sizeof address);
        uint32_t to = ntohl(address) - NETWORK - 1;
        if (to < (uint32_t)ports && to != (uint32_t)from) take(&links[from][to], bytes, length);
    }
}

/* Delivers due packets; returns the time of the next packet of the link, or `then` if that is earlier. */
static int64_t deliver(struct link *link, int to, int64_t now, int64_t then) {
    while (link->oldest) {
        struct packet *packet = link->oldest;
        if (packet->due_ns > now) return packet->due_ns < then ? packet->due_ns : then;
        if (write(tuns[to], packet->bytes, (size_t)packet->length) < 0 && errno == EAGAIN) return now + 100000;
        free(remove_oldest(link));
    }
    return then;
}

static int set_link(const char *line) {
    int from, to, delay_ms, jitter_ms, lost_of_1000, cut;
    if (sscanf(line, "link %d %d %d %d %d %d", &from, &to, &delay_ms, &jitter_ms, &lost_of_1000, &cut) != 6) return 0;
    if (from < 0 || from >= ports || to < 0 || to >= ports || delay_ms < 0 || cut < 0 || cut > 1) return 0;
    if (jitter_ms < 0 || jitter_ms > delay_ms || lost_of_1000 < 0 || lost_of_1000 > 1000) return 0;
    struct link *link = &links[from][to];
    link->delay_ns = delay_ms * INT64_C(1000000);
    link->jitter_ns = jitter_ms * INT64_C(1000000);
    link->lost_of_1000 = lost_of_1000;
    link->cut = cut;
    if (!cut) return 1;
    for (; link->oldest; lost++) free(remove_oldest(link));
    return 1;
}

static void answer(const char *line) {
    if (!strncmp(line, "lost", 4)) printf("ok %llu\n", (unsigned long long)lost);
    else puts(set_link(line) ? "ok" : "no");
    fflush(stdout);
}

int main(int argc, char **argv) {
    ports = argc == 2 ? atoi(argv[1]) + 1 : 0;
    if (ports < 2 || ports > PORTS_MAX) {
        fprintf(stderr, "usage: links COUNT, with a count of 1 to %d\n", PORTS_MAX - 1);
        return 2;
    }
    int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    if (own < 0) fail("/proc/self/ns/net");
    printf("ready");
    tuns[0] = open_tun(0);
    for (int port = 1; port < ports; port++) {
        if (unshare(CLONE_NEWNET)) fail("network namespace");
        int namespace = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
        if (namespace < 0) fail("/proc/self/ns/net");
        tuns[port] = open_tun(port);
        printf(" %d", namespace);
    }
    if (setns(own, CLONE_NEWNET)) fail("back to the first network namespace");
    puts("");
    fflush(stdout);

    char line[256];
    struct pollfd polled[PORTS_MAX + 1] = {{.fd = STDIN_FILENO, .events = POLLIN}};
    for (int port = 0; port < ports; port++) polled[port + 1] = (struct pollfd){.fd = tuns[port], .events = POLLIN};
    for (;;) {
        int64_t now = now_ns(), next = now + INT64_C(1000000000);
        for (int from = 0; from < ports; from++)
            for (int to = 0; to < ports; to++) next = deliver(&links[from][to], to, now, next);
        int64_t wait_ns = next > now ? next - now : 0;
        struct timespec wait = {wait_ns / 1000000000, wait_ns % 1000000000};
        if (ppoll(polled, (nfds_t)ports + 1, &wait, NULL) < 0 && errno != EINTR) fail("ppoll");
        for (int port = 0; port < ports; port++)
            if (polled[port + 1].revents) read_port(port);
        if (!polled[0].revents) continue;
        /* The caller waits for each answer, so there is never more than one line. */
        if (!fgets(line, sizeof line, stdin)) return 0;
        answer(line);
    }
}

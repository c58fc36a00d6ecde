/*
 * fsync: makes the fsyncs of one process slow, or makes them fail, on files whose path contains a given part.
 *
 *   DLCHAOS_FSYNC=/control/file LD_PRELOAD=/this/library.so java ...
 *
 * The control file is read before each fsync and fdatasync. An empty or absent file has no effect:
 *
 *   slow MILLISECONDS PATH-PART     wait, then sync
 *   fail 0 PATH-PART                fail with EIO, without a sync
 *
 * Replace the file by rename. It is read each time: an fsync takes so much longer that this does not matter.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Whether this fsync is to fail; waits first if it is to be slow. */
static int fails(int file) {
    char said[512], mode[16], part[256], link[64], path[PATH_MAX];
    int milliseconds, saved = errno;
    const char *control = getenv("DLCHAOS_FSYNC");
    int opened = control ? open(control, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t length = opened < 0 ? -1 : read(opened, said, sizeof said - 1);
    if (opened >= 0) close(opened);
    errno = saved;
    if (length <= 0) return 0;
    said[length] = 0;
    if (sscanf(said, "%15s %d %255s", mode, &milliseconds, part) != 3) return 0;

    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    length = readlink(link, path, sizeof path - 1);
    errno = saved;
    if (length <= 0) return 0;
    path[length] = 0;
    if (!strstr(path, part)) return 0;
    if (!strcmp(mode, "fail")) return 1;

    struct timespec left = {milliseconds / 1000, (long)(milliseconds % 1000) * 1000000};
    while (nanosleep(&left, &left) && errno == EINTR) {}
    errno = saved;
    return 0;
}

static int real(const char *name, int file) {
    int (*function)(int);
    *(void **)&function = dlsym(RTLD_NEXT, name);
    return function(file);
}

int fsync(int file) {
    if (!fails(file)) return real("fsync", file);
    errno = EIO;
    return -1;
}

int fdatasync(int file) {
    if (!fails(file)) return real("fdatasync", file);
    errno = EIO;
    return -1;
}

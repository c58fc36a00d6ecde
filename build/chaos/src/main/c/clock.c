/*
 * clock: moves the wall clock of one process.
 *
 *   DLCHAOS_CLOCK=/control/file LD_PRELOAD=/this/library.so java ...
 *
 * The control file has eight bytes: by how many nanoseconds the wall clock is ahead of the machine's, a signed number in the machine's
 * byte order. It is made when it is missing. It is mapped into memory, so that a step takes effect at once, and costs no system call.
 *
 * What is moved: clock_gettime with CLOCK_REALTIME, gettimeofday and time, and the time until which a thread waits for a condition. Such a
 * time is one of the wall clock when it lies after 2001; those of the monotonic clock count from the start of the machine. Not moved:
 * the monotonic clock, as with a real step, and what the kernel stamps, such as times of files.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND INT64_C(1000000000)
enum { WALL_SINCE = 1000000000 }; /* seconds since 1970, in 2001 */

static const int64_t *control;

__attribute__((constructor)) static void map(void) {
    const char *path = getenv("DLCHAOS_CLOCK");
    int file = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644) : -1;
    struct stat found;
    if (file < 0) return;
    if (!fstat(file, &found) && (found.st_size >= (off_t)sizeof *control || !ftruncate(file, sizeof *control))) {
        void *mapped = mmap(NULL, sizeof *control, PROT_READ, MAP_SHARED, file, 0);
        if (mapped != MAP_FAILED) control = mapped;
    }
    close(file);
}

static int64_t ahead(void) {
    return control ? __atomic_load_n(control, __ATOMIC_RELAXED) : 0;
}

static void move(struct timespec *t, int64_t by) {
    int64_t nanoseconds = t->tv_nsec + by % SECOND;
    t->tv_sec += by / SECOND;
    if (nanoseconds < 0) {
        nanoseconds += SECOND;
        t->tv_sec--;
    } else if (nanoseconds >= SECOND) {
        nanoseconds -= SECOND;
        t->tv_sec++;
    }
    t->tv_nsec = (long)nanoseconds;
}

int clock_gettime(clockid_t clock, struct timespec *t) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, t);
    if (!result && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) move(t, ahead());
    return result;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone) {
    (void)zone; /* obsolete */
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now)) return -1;
    t->tv_sec = now.tv_sec;
    t->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *t) {
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME_COARSE, &now)) return -1;
    if (t) *t = now.tv_sec;
    return now.tv_sec;
}

int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex, const struct timespec *restrict until) {
    static int (*real)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    if (!real) {
        /* dlsym may find the function of before 2003, which has conditions of another kind. */
        void *found = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
        *(void **)&real = found ? found : dlsym(RTLD_NEXT, "pthread_cond_timedwait");
    }
    struct timespec moved = *until;
    if (moved.tv_sec > WALL_SINCE) move(&moved, -ahead());
    return real(condition, mutex, &moved);
}

/* A wall clock that is CLOCK_AHEAD seconds ahead, for a process that is started with this in
 * LD_PRELOAD. Clocks that count from the start of the machine stay as they are, and so does every
 * wait: libfaketime shifts those, too, and Python's threads then wait for ever. */

#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long ahead;

__attribute__((constructor)) static void begin(void)
{
    const char *said = getenv("CLOCK_AHEAD");
    ahead = said ? atol(said) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *found)
{
    int failed = syscall(SYS_clock_gettime, clock, found);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        found->tv_sec += ahead;
    return failed;
}

int gettimeofday(struct timeval *found, void *zone)
{
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    found->tv_sec = now.tv_sec;
    found->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *found)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (found)
        *found = now.tv_sec;
    return now.tv_sec;
}

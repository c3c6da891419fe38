/* A full disk and a wrong clock, for one program: hardship.py preloads it and writes the control file.

   The control file has two 64-bit integers: by how many bytes files may still grow (negative: any
   number), and by how many milliseconds the clock is off. A write that needs more room is short, or
   fails with ENOSPC, as on a full disk; what a file has already can be overwritten, as there.
   Standard output and error can always be written to. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct control {
    int64_t room_bytes;
    int64_t clock_off_ms;
};

static volatile struct control *control;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("SABOT_HARDSHIP");
    int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0)
        return;
    void *mapped = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped != MAP_FAILED)
        control = mapped;
    close(file);
}

/* How many of `wanted` bytes may be written to `file` from `at` on (negative: where it stands). What
   the file grows by is taken from the room. */
static size_t allowed(int file, off64_t at, size_t wanted) {
    struct stat64 about;
    if (!control || file <= 2 || control->room_bytes < 0 || !wanted)
        return wanted;
    if (fstat64(file, &about) || !S_ISREG(about.st_mode))
        return wanted;
    if (at < 0)
        at = fcntl(file, F_GETFL) & O_APPEND ? about.st_size : lseek64(file, 0, SEEK_CUR);
    int64_t grows = at + (int64_t)wanted - (about.st_size > at ? about.st_size : at);
    while (grows > 0) {
        int64_t room = control->room_bytes;
        if (room < 0)
            return wanted;
        int64_t given = room < grows ? room : grows;
        if (__sync_bool_compare_and_swap(&control->room_bytes, room, room - given))
            return wanted - (size_t)(grows - given);
    }
    return wanted;
}

#define REAL(name) \
    static __typeof__(name) *real; \
    if (!real) \
        real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

#define WITHIN_ROOM(file, at, size) \
    size_t room = allowed(file, at, size); \
    if (!room && (size)) { \
        errno = ENOSPC; \
        return -1; \
    }

ssize_t write(int file, const void *data, size_t size) {
    REAL(write);
    WITHIN_ROOM(file, -1, size)
    return real(file, data, room);
}

ssize_t pwrite(int file, const void *data, size_t size, off_t at) {
    REAL(pwrite);
    WITHIN_ROOM(file, at, size)
    return real(file, data, room, at);
}

ssize_t pwrite64(int file, const void *data, size_t size, off64_t at) {
    REAL(pwrite64);
    WITHIN_ROOM(file, at, size)
    return real(file, data, room, at);
}

/* Vectors are written whole or, if there is no room for all, only their first part as far as it
   goes: a short write, which is right too. */
#define VECTOR(at, call, whole) \
    size_t size = 0; \
    for (int i = 0; i < count; i++) \
        size += parts[i].iov_len; \
    WITHIN_ROOM(file, at, size) \
    if (room == size) \
        return whole; \
    struct iovec first = parts[0]; \
    if (first.iov_len > room) \
        first.iov_len = room; \
    return call

ssize_t writev(int file, const struct iovec *parts, int count) {
    REAL(writev);
    VECTOR(-1, real(file, &first, 1), real(file, parts, count));
}

ssize_t pwritev(int file, const struct iovec *parts, int count, off_t at) {
    REAL(pwritev);
    VECTOR(at, real(file, &first, 1, at), real(file, parts, count, at));
}

ssize_t pwritev64(int file, const struct iovec *parts, int count, off64_t at) {
    REAL(pwritev64);
    VECTOR(at, real(file, &first, 1, at), real(file, parts, count, at));
}

int posix_fallocate(int file, off_t at, off_t size) {
    REAL(posix_fallocate);
    return allowed(file, at, (size_t)size) < (size_t)size ? ENOSPC : real(file, at, size);
}

int posix_fallocate64(int file, off64_t at, off64_t size) {
    REAL(posix_fallocate64);
    return allowed(file, at, (size_t)size) < (size_t)size ? ENOSPC : real(file, at, size);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    REAL(clock_gettime);
    int result = real(clock, now);
    if (!result && control && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        int64_t ns = now->tv_nsec + control->clock_off_ms % 1000 * 1000000;
        now->tv_sec += control->clock_off_ms / 1000;
        now->tv_sec += ns < 0 ? -1 : ns / 1000000000;
        now->tv_nsec = ns < 0 ? ns + 1000000000 : ns % 1000000000;
    }
    return result;
}

int gettimeofday(struct timeval *now, void *zone) {
    struct timespec precise;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &precise))
        return -1;
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *result) {
    struct timespec precise;
    if (clock_gettime(CLOCK_REALTIME, &precise))
        return -1;
    if (result)
        *result = precise.tv_sec;
    return precise.tv_sec;
}

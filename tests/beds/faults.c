/* Faults of a filesystem below one rank, by LD_PRELOAD: what a bandwidth-only harness would not notice.

   FAULT        lose   a write is acknowledged and not done
                flip   one bit of what is written, or of what was read, is another one
                short  a write does only half of what it is asked for, as POSIX allows
                slow   the call sleeps for FAULT_US microseconds first
                hang   the call never returns
                NAME   of an errno: ENOSPC, EIO, EDQUOT
   FAULT_OP     write, read or fsync
   FAULT_DIR    only files below this directory
   FAULT_RANK   only this rank; every one where it is not set
   FAULT_FROM   first call of its kind that is hit, from 1 on (default 1)
   FAULT_TIMES  so many calls are hit (default all) */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_long calls;

static long number(const char *name, long otherwise) {
    const char *text = getenv(name);
    return text && *text ? atol(text) : otherwise;
}

static int is_our_rank(void) {
    const char *wanted = getenv("FAULT_RANK"), *rank = getenv("PMI_RANK");
    if (!rank) rank = getenv("OMPI_COMM_WORLD_RANK");
    return !wanted || (rank && !strcmp(wanted, rank));
}

static int is_below(int fd) {
    char link[64], path[PATH_MAX];
    const char *directory = getenv("FAULT_DIR");
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (!directory || length < 0) return 0;
    path[length] = 0;
    return !strncmp(path, directory, strlen(directory));
}

/* the fault that hits this call, or NULL */
static const char *hit(const char *op, int fd) {
    const char *fault = getenv("FAULT"), *wanted = getenv("FAULT_OP");
    if (!fault || !wanted || strcmp(op, wanted) || !is_our_rank() || !is_below(fd)) return NULL;
    long call = atomic_fetch_add(&calls, 1) + 1, first = number("FAULT_FROM", 1);
    if (call < first || call >= first + number("FAULT_TIMES", LONG_MAX / 2)) return NULL;
    if (!strcmp(fault, "slow")) usleep((useconds_t)number("FAULT_US", 1000));
    if (!strcmp(fault, "hang")) for (;;) pause();
    return fault;
}

static int errno_of(const char *fault) {
    if (!fault) return 0;
    if (!strcmp(fault, "ENOSPC")) return ENOSPC;
    if (!strcmp(fault, "EDQUOT")) return EDQUOT;
    return strcmp(fault, "EIO") ? 0 : EIO;
}

static ssize_t fail(int code) { errno = code; return -1; }

typedef ssize_t (*mover)(int, void *, size_t, off_t);

static ssize_t put(const char *symbol, int fd, const void *data, size_t length, off_t offset) {
    mover real = (mover)dlsym(RTLD_NEXT, symbol);
    const char *fault = hit("write", fd);
    if (errno_of(fault)) return fail(errno_of(fault));
    if (fault && !strcmp(fault, "lose")) return (ssize_t)length;
    if (fault && !strcmp(fault, "short") && length > 1) length /= 2;
    if (!fault || strcmp(fault, "flip") || !length) return real(fd, (void *)data, length, offset);
    unsigned char *copy = malloc(length);
    memcpy(copy, data, length);
    copy[length / 2] ^= 0x10;
    ssize_t done = real(fd, copy, length, offset);
    free(copy);
    return done;
}

static ssize_t get(const char *symbol, int fd, void *data, size_t length, off_t offset) {
    mover real = (mover)dlsym(RTLD_NEXT, symbol);
    const char *fault = hit("read", fd);
    if (errno_of(fault)) return fail(errno_of(fault));
    ssize_t done = real(fd, data, length, offset);
    if (fault && !strcmp(fault, "flip") && done > 0) ((unsigned char *)data)[done / 2] ^= 0x10;
    return done;
}

ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) { return put("pwrite", fd, data, length, offset); }
ssize_t pwrite64(int fd, const void *data, size_t length, off_t offset) { return put("pwrite64", fd, data, length, offset); }
ssize_t pread(int fd, void *data, size_t length, off_t offset) { return get("pread", fd, data, length, offset); }
ssize_t pread64(int fd, void *data, size_t length, off_t offset) { return get("pread64", fd, data, length, offset); }

int fsync(int fd) {
    const char *fault = hit("fsync", fd);
    if (errno_of(fault)) return (int)fail(errno_of(fault));
    return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd);
}

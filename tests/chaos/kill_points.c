// Preloaded into the master: counts its calls that change files, and ends the process as kill -9 does before the n-th of
// them. Upstream: restarts.py, which compiles it and says by environment
//   WEIR_CRASH_LOG  file to which each call is written, one line: number, name, path
//   WEIR_CRASH_AT   number of the call before which the process dies; 0 = never
//   WEIR_CRASH_FROM text: only calls count that come from the first one on whose path holds it; none = all
// A call before which it dies is one after which it died, seen from the call before: so every gap is met.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_long count;
static atomic_int counting;
static long crash_at;
static int log_fd = -1;
static const char* from;

__attribute__((constructor)) static void Begin(void) {
  const char* at = getenv("WEIR_CRASH_AT");
  const char* log = getenv("WEIR_CRASH_LOG");
  from = getenv("WEIR_CRASH_FROM");
  crash_at = at ? atol(at) : 0;
  counting = from == NULL || *from == '\0';
  if (log) log_fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  // Its children are not the process that is to die.
  unsetenv("LD_PRELOAD");
}

static void Point(const char* name, const char* path) {
  if (!counting) {
    if (path == NULL || strstr(path, from) == NULL) return;
    counting = 1;
  }
  const long number = atomic_fetch_add(&count, 1) + 1;
  if (log_fd >= 0) dprintf(log_fd, "%ld %s %s\n", number, name, path ? path : "");
  if (number == crash_at) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
  }
}

// Path of a descriptor, and whether it is a file at all: sockets and pipes do not count.
static int PathOf(int fd, char* path, size_t size) {
  struct stat info;
  if (fd == log_fd || fstat(fd, &info) != 0 || !(S_ISREG(info.st_mode) || S_ISDIR(info.st_mode))) return 0;
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, size - 1);
  path[length > 0 ? length : 0] = '\0';
  return 1;
}

static void PointAt(const char* name, int fd) {
  const int before = errno;
  char path[4096];
  if (PathOf(fd, path, sizeof path)) Point(name, path);
  errno = before;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define BY_PATH(result, name, parameters, arguments, path) \
  result name parameters {                                 \
    static __typeof__(&name) real;                         \
    if (!real) real = REAL(name);                          \
    Point(#name, path);                                    \
    return real arguments;                                 \
  }
#define BY_FD(result, name, parameters, arguments, fd) \
  result name parameters {                             \
    static __typeof__(&name) real;                     \
    if (!real) real = REAL(name);                      \
    PointAt(#name, fd);                                \
    return real arguments;                             \
  }

BY_PATH(int, rename, (const char* a, const char* b), (a, b), b)
BY_PATH(int, renameat, (int x, const char* a, int y, const char* b), (x, a, y, b), b)
BY_PATH(int, renameat2, (int x, const char* a, int y, const char* b, unsigned int f), (x, a, y, b, f), b)
BY_PATH(int, link, (const char* a, const char* b), (a, b), b)
BY_PATH(int, unlink, (const char* path), (path), path)
BY_PATH(int, unlinkat, (int fd, const char* path, int flags), (fd, path, flags), path)
BY_PATH(int, remove, (const char* path), (path), path)
BY_PATH(int, rmdir, (const char* path), (path), path)
BY_PATH(int, mkdir, (const char* path, mode_t mode), (path, mode), path)
BY_PATH(int, chmod, (const char* path, mode_t mode), (path, mode), path)
BY_FD(int, fchmod, (int fd, mode_t mode), (fd, mode), fd)
BY_FD(int, fsync, (int fd), (fd), fd)
BY_FD(int, fdatasync, (int fd), (fd), fd)
BY_FD(int, ftruncate, (int fd, off_t size), (fd, size), fd)
BY_FD(int, ftruncate64, (int fd, off64_t size), (fd, size), fd)
BY_FD(ssize_t, write, (int fd, const void* data, size_t size), (fd, data, size), fd)
BY_FD(ssize_t, pwrite, (int fd, const void* data, size_t size, off_t at), (fd, data, size, at), fd)
BY_FD(ssize_t, pwrite64, (int fd, const void* data, size_t size, off64_t at), (fd, data, size, at), fd)

#define OPENING(name)                                                              \
  int name(const char* path, int flags, ...) {                                     \
    static int (*real)(const char*, int, ...);                                     \
    if (!real) real = (int (*)(const char*, int, ...))dlsym(RTLD_NEXT, #name);     \
    va_list rest;                                                                  \
    va_start(rest, flags);                                                         \
    const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;  \
    va_end(rest);                                                                  \
    if (flags & (O_CREAT | O_TRUNC)) Point(#name, path);                           \
    return real(path, flags, mode);                                                \
  }
OPENING(open)
OPENING(open64)

#define OPENING_AT(name)                                                               \
  int name(int at, const char* path, int flags, ...) {                                 \
    static int (*real)(int, const char*, int, ...);                                    \
    if (!real) real = (int (*)(int, const char*, int, ...))dlsym(RTLD_NEXT, #name);    \
    va_list rest;                                                                      \
    va_start(rest, flags);                                                             \
    const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;      \
    va_end(rest);                                                                      \
    if (flags & (O_CREAT | O_TRUNC)) Point(#name, path);                               \
    return real(at, path, flags, mode);                                                \
  }
OPENING_AT(openat)
OPENING_AT(openat64)

/*
 * A library for tests, preloaded into the server: it lets the n-th call of a kind fail once, if the call is about a
 * file below one folder. Which kind, which n and which error are in a control file that the test writes; every
 * process that is started with the library shares it. It does nothing while the control file says 0. With the
 * least number, every call of the kind fails.
 *
 * A sync of SQLite's log can also fail as it does when the kernel has dropped the pages that it could not write: the file
 * is then again as it was when it was last synced.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { WRITE = 1, SYNC = 2, RENAME = 3, LINK = 4, SYNC_LOG = 5, SYNC_LOG_DROPPING = 6 };

/* Must match fault-library.testing.ts. */
struct control {
  uint32_t kind;
  int32_t calls_left;
  uint32_t error;
  uint32_t hits;
};

static struct control idle;
static struct control *control = &idle;
static char folder[PATH_MAX];
static size_t folder_length;

__attribute__((constructor)) static void open_control(void) {
  const char *path = getenv("WORKCRATE_TEST_FAULT_CONTROL");
  const char *below = getenv("WORKCRATE_TEST_FAULT_FOLDER");
  if (path == NULL || below == NULL) return;
  int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  void *memory = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (memory == MAP_FAILED) return;
  folder_length = (size_t)snprintf(folder, sizeof folder, "%s/", below);
  control = memory;
}

static int is_below(const char *path) { return strncmp(path, folder, folder_length) == 0; }

static int is_below_by_fd(int fd) {
  char name[64], path[PATH_MAX];
  snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(name, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return is_below(path);
}

/* Paths that go through a descriptor are resolved, so that the folder is seen. */
static int is_below_by_path(const char *path) {
  int fd;
  if (sscanf(path, "/proc/self/fd/%d/", &fd) == 1) return is_below_by_fd(fd);
  return is_below(path);
}

static int is_armed(enum kind kind) { return __atomic_load_n(&control->kind, __ATOMIC_SEQ_CST) == (uint32_t)kind; }

/* Whether this call is the one that has to fail. */
static int fails(void) {
  int is_always = __atomic_load_n(&control->calls_left, __ATOMIC_SEQ_CST) == INT32_MIN;
  if (!is_always && __atomic_sub_fetch(&control->calls_left, 1, __ATOMIC_SEQ_CST) != 0) return 0;
  __atomic_add_fetch(&control->hits, 1, __ATOMIC_SEQ_CST);
  errno = (int)control->error;
  return 1;
}

#define REAL(name) \
  static __typeof__(&name) real; \
  if (real == NULL) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

#define FAIL_BY_FD(kind, fd) if (is_armed(kind) && is_below_by_fd(fd) && fails()) return -1
#define FAIL_BY_PATH(kind, path) if (is_armed(kind) && is_below_by_path(path) && fails()) return -1

ssize_t write(int fd, const void *bytes, size_t length) {
  REAL(write);
  FAIL_BY_FD(WRITE, fd);
  return real(fd, bytes, length);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  REAL(writev);
  FAIL_BY_FD(WRITE, fd);
  return real(fd, parts, count);
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) {
  REAL(pwrite);
  FAIL_BY_FD(WRITE, fd);
  return real(fd, bytes, length, at);
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) {
  REAL(pwrite64);
  FAIL_BY_FD(WRITE, fd);
  return real(fd, bytes, length, at);
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at) {
  REAL(pwritev);
  FAIL_BY_FD(WRITE, fd);
  return real(fd, parts, count, at);
}

ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at) {
  REAL(pwritev64);
  FAIL_BY_FD(WRITE, fd);
  return real(fd, parts, count, at);
}

static int is_log(int fd) {
  char name[64], path[PATH_MAX];
  snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(name, path, sizeof path - 1);
  if (length < 4) return 0;
  path[length] = 0;
  return is_below(path) && strcmp(path + length - 4, "-wal") == 0;
}

/* The log as it was when it was last synced. */
static struct { char *bytes; ssize_t length; } synced;

static void keep_log(int fd) {
  struct stat found;
  if (fstat(fd, &found) != 0) return;
  synced.bytes = realloc(synced.bytes, (size_t)found.st_size + 1);
  synced.length = pread(fd, synced.bytes, (size_t)found.st_size, 0);
}

static void drop_unsynced(int fd) {
  int error = errno;
  if (synced.bytes == NULL || ftruncate(fd, synced.length) != 0 || pwrite(fd, synced.bytes, (size_t)synced.length, 0) < 0)
    abort();
  errno = error;
}

static int sync_with(int (*real)(int), int fd) {
  FAIL_BY_FD(SYNC, fd);
  if (is_armed(SYNC_LOG) && is_log(fd) && fails()) return -1;
  if (!is_armed(SYNC_LOG_DROPPING) || !is_log(fd)) return real(fd);
  if (fails()) {
    drop_unsynced(fd);
    return -1;
  }
  int result = real(fd);
  keep_log(fd);
  return result;
}

int fsync(int fd) {
  REAL(fsync);
  return sync_with(real, fd);
}

int fdatasync(int fd) {
  REAL(fdatasync);
  return sync_with(real, fd);
}

int rename(const char *from, const char *to) {
  REAL(rename);
  FAIL_BY_PATH(RENAME, to);
  return real(from, to);
}

int link(const char *from, const char *to) {
  REAL(link);
  FAIL_BY_PATH(LINK, to);
  return real(from, to);
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
  REAL(linkat);
  FAIL_BY_PATH(LINK, to);
  return real(from_folder, from, to_folder, to, flags);
}

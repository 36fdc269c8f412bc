/*
 * Preloaded into a server under test: makes reads, writes and syncs of chosen files fail as a failing disk does.
 *
 * MUNIMENT_FAULTS names a file of one line: operation, part of the path, fault, how often, how many calls before pass,
 * and a number that tells one arming from the next. Operations: read, write, sync. Faults: EIO, ENOSPC, `zeros` (a read
 * gives zeros, as of a page that was lost), `short` (half of a write is done). The file is removed after the last one.
 * While there is no such file nothing fails.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static int arming = -1, left = 0, before = 0;

enum { none, eio, enospc, zeros, half };

/* Counts a call that the arming means; returns whether it fails. */
static int is_hit(const char *armed, int number, int times, int pass) {
  int hit = 0;
  pthread_mutex_lock(&turn);
  if (arming != number) {
    arming = number;
    left = times;
    before = pass;
  }
  if (before > 0) {
    before--;
  } else if (left > 0) {
    hit = 1;
    if (--left == 0) unlink(armed);
  }
  pthread_mutex_unlock(&turn);
  return hit;
}

static int fault_of(const char *operation, int descriptor) {
  const char *armed = getenv("MUNIMENT_FAULTS");
  if (armed == NULL || access(armed, F_OK) != 0) return none;
  char wanted[16], part[256], kind[16], link[64], path[PATH_MAX];
  int times, pass, number;
  FILE *file = fopen(armed, "r");
  if (file == NULL) return none;
  int fields = fscanf(file, "%15s %255s %15s %d %d %d", wanted, part, kind, &times, &pass, &number);
  fclose(file);
  if (fields != 6 || strcmp(wanted, operation) != 0) return none;
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return none;
  path[length] = 0;
  if (strstr(path, part) == NULL || !is_hit(armed, number, times, pass)) return none;
  if (strcmp(kind, "zeros") == 0) return zeros;
  if (strcmp(kind, "short") == 0) return half;
  return strcmp(kind, "ENOSPC") == 0 ? enospc : eio;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static ssize_t spoilt(int fault, void *bytes, size_t count) {
  if (fault == zeros) {
    memset(bytes, 0, count);
    return (ssize_t)count;
  }
  errno = EIO;
  return -1;
}

ssize_t pread64(int descriptor, void *bytes, size_t count, off64_t at) {
  int fault = fault_of("read", descriptor);
  return fault ? spoilt(fault, bytes, count) : REAL(pread64)(descriptor, bytes, count, at);
}

ssize_t pread(int descriptor, void *bytes, size_t count, off_t at) {
  int fault = fault_of("read", descriptor);
  return fault ? spoilt(fault, bytes, count) : REAL(pread)(descriptor, bytes, count, at);
}

/* Of a write that fails; a short one is done by its caller. */
static ssize_t refused(int fault) {
  errno = fault == enospc ? ENOSPC : EIO;
  return -1;
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t at) {
  int fault = fault_of("write", descriptor);
  if (fault != none && (fault != half || count < 2)) return refused(fault);
  return REAL(pwrite64)(descriptor, bytes, fault == half ? count / 2 : count, at);
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t at) {
  int fault = fault_of("write", descriptor);
  if (fault != none && (fault != half || count < 2)) return refused(fault);
  return REAL(pwrite)(descriptor, bytes, fault == half ? count / 2 : count, at);
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
  int fault = fault_of("write", descriptor);
  if (fault != none && (fault != half || count < 2)) return refused(fault);
  return REAL(write)(descriptor, bytes, fault == half ? count / 2 : count);
}

/* Of several buffers a short write does the first. */
ssize_t pwritev64(int descriptor, const struct iovec *buffers, int count, off64_t at) {
  int fault = fault_of("write", descriptor);
  if (fault != none && (fault != half || count < 2)) return refused(fault);
  return REAL(pwritev64)(descriptor, buffers, fault == half ? 1 : count, at);
}

ssize_t pwritev(int descriptor, const struct iovec *buffers, int count, off_t at) {
  int fault = fault_of("write", descriptor);
  if (fault != none && (fault != half || count < 2)) return refused(fault);
  return REAL(pwritev)(descriptor, buffers, fault == half ? 1 : count, at);
}

int fsync(int descriptor) {
  int fault = fault_of("sync", descriptor);
  return fault == none ? REAL(fsync)(descriptor) : (int)refused(fault);
}

int fdatasync(int descriptor) {
  int fault = fault_of("sync", descriptor);
  return fault == none ? REAL(fdatasync)(descriptor) : (int)refused(fault);
}

/*
 * Preloaded into a server under test: makes reads, writes and syncs of chosen files fail as a failing disk does.
 *
 * MUNIMENT_FAULTS names a file of one line: operation, part of the path, fault, how often. Operations: read, write,
 * sync. Faults: EIO, or `zeros` (a read gives zeros, as of a page that was lost). The file is removed after the last
 * one. While there is no such file nothing fails.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int left = -1;

/* 0: as usual, 1: EIO, 2: zeros. */
static int fault_of(const char *operation, int descriptor) {
  const char *armed = getenv("MUNIMENT_FAULTS");
  if (armed == NULL || access(armed, F_OK) != 0) {
    left = -1;
    return 0;
  }
  char wanted[16], part[256], kind[16], link[64], path[PATH_MAX];
  int times;
  FILE *file = fopen(armed, "r");
  if (file == NULL) return 0;
  int fields = fscanf(file, "%15s %255s %15s %d", wanted, part, kind, &times);
  fclose(file);
  if (fields != 4 || strcmp(wanted, operation) != 0) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return 0;
  path[length] = 0;
  if (strstr(path, part) == NULL) return 0;
  if (left < 0) left = times;
  if (--left == 0) {
    unlink(armed);
    left = -1;
  }
  return strcmp(kind, "zeros") == 0 ? 2 : 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static ssize_t spoilt(int fault, void *bytes, size_t count) {
  if (fault == 2) {
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

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t at) {
  if (fault_of("write", descriptor)) return errno = EIO, -1;
  return REAL(pwrite64)(descriptor, bytes, count, at);
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t at) {
  if (fault_of("write", descriptor)) return errno = EIO, -1;
  return REAL(pwrite)(descriptor, bytes, count, at);
}

int fsync(int descriptor) {
  if (fault_of("sync", descriptor)) return errno = EIO, -1;
  return REAL(fsync)(descriptor);
}

int fdatasync(int descriptor) {
  if (fault_of("sync", descriptor)) return errno = EIO, -1;
  return REAL(fdatasync)(descriptor);
}

/*
 * Makes every sync of a process take SYNC_MICROS longer, for a bench of writes on a disk that is slower than this one:
 *
 *   cc -O2 -shared -fPIC -o /tmp/slowSync.so bench/engine/slowSync.c -ldl
 *   LD_PRELOAD=/tmp/slowSync.so SYNC_MICROS=2000 node bench/engine/suite.ts --only writes
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static int rested(int result) {
  const char *micros = getenv("SYNC_MICROS");
  long longer = micros ? atol(micros) : 0;
  struct timespec pause = {longer / 1000000, longer % 1000000 * 1000};
  if (longer > 0) nanosleep(&pause, NULL);
  return result;
}

int fsync(int file) {
  int (*sync)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  return rested(sync(file));
}

int fdatasync(int file) {
  int (*sync)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
  return rested(sync(file));
}

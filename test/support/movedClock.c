/*
 * Preloaded into a server under test: its clock of the day is moved, its monotonic one is not. MUNIMENT_CLOCK names a
 * file of 8 bytes: by how many milliseconds, as a little-endian number with a sign.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *moved;
static int (*real_clock)(clockid_t, struct timespec *);

__attribute__((constructor)) static void begin(void) {
  real_clock = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  const char *path = getenv("MUNIMENT_CLOCK");
  int file = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  void *page = mmap(NULL, sizeof *moved, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (page != MAP_FAILED) moved = page;
}

int clock_gettime(clockid_t clock, struct timespec *at) {
  if (real_clock == NULL) begin();
  int result = real_clock(clock, at);
  if (result != 0 || moved == NULL || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return result;
  int64_t nanos = at->tv_nsec + (*moved % 1000) * 1000000;
  at->tv_sec += *moved / 1000;
  if (nanos < 0) at->tv_sec--, nanos += 1000000000;
  if (nanos >= 1000000000) at->tv_sec++, nanos -= 1000000000;
  at->tv_nsec = nanos;
  return 0;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
  struct timespec precise;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &precise);
  at->tv_sec = precise.tv_sec;
  at->tv_usec = precise.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *at) {
  struct timespec precise;
  clock_gettime(CLOCK_REALTIME, &precise);
  if (at != NULL) *at = precise.tv_sec;
  return precise.tv_sec;
}

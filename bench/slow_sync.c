// A disk whose syncs take longer: LD_PRELOAD for bench/limits.py. SLOW_SYNC_MS is added to each.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

static void wait_longer(void) {
  const char* ms = getenv("SLOW_SYNC_MS");
  if (ms)
    usleep((useconds_t)(atof(ms) * 1000));
}

int fdatasync(int fd) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
  wait_longer();
  return real(fd);
}

int fsync(int fd) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  wait_longer();
  return real(fd);
}

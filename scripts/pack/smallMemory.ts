/**
 * Keep the service's memory small: one heap of the C library for all threads, whose buffers of 16 KiB and more go back
 * to the system when they are free, and small nurseries for new objects.
 */
export const smallMemory = {
  environment: { MALLOC_ARENA_MAX: "1", MALLOC_MMAP_THRESHOLD_: "16384", MALLOC_TRIM_THRESHOLD_: "65536" },
  nodeOptions: ["--max-semi-space-size=2"]
}

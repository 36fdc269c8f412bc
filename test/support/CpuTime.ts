/** Processor time of `work`, which runs on this thread, in milliseconds: unlike the clock's, a busy machine adds none. */
export const cpuMillis = (work: () => unknown): number => {
  const before = cpuMillisNow()
  work()
  return cpuMillisNow() - before
}

/** Used by this thread so far. */
export const cpuMillisNow = (): number => {
  const { system, user } = process.threadCpuUsage()
  return (system + user) / 1_000
}

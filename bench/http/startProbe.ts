/** Starts the thread of `probe.ts`, which asks a server until `stop`, and takes its report. */
import { once } from "node:events"
import { Worker } from "node:worker_threads"
import type { ProbeReport, ProbeSettings } from "./probe.ts"

export const startProbe = async (settings: ProbeSettings) => {
  const thread = new Worker(new URL("./probe.ts", import.meta.url), { workerData: settings })
  await once(thread, "online")
  return {
    stop: async (): Promise<ProbeReport> => {
      const answer = once(thread, "message")
      thread.postMessage("stop")
      const [report] = (await answer) as [ProbeReport]
      return report
    }
  }
}

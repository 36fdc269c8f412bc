/**
 * Loaded before the service: on SIGUSR2 it collects garbage, so that only live objects count, and writes V8's figures
 * of the main thread's memory to the file that `MUNIMENT_SOAK_HEAP` names. The service itself reports resident memory
 * only.
 */
import { renameSync, writeFileSync } from "node:fs"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

const file = process.env["MUNIMENT_SOAK_HEAP"]
if (file !== undefined) {
  setFlagsFromString("--expose-gc")
  const collect: unknown = runInNewContext("gc")
  process.on("SIGUSR2", () => {
    if (typeof collect === "function") collect()
    writeFileSync(`${file}.part`, JSON.stringify(process.memoryUsage()))
    renameSync(`${file}.part`, file)
  })
}

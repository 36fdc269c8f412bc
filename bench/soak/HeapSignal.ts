/**
 * Loaded before the service: on SIGUSR2 it writes what V8 says of the main thread's memory to the file
 * that `MUNIMENT_SOAK_HEAP` names. The service tells its resident memory only.
 */
import { renameSync, writeFileSync } from "node:fs"

const file = process.env["MUNIMENT_SOAK_HEAP"]
if (file !== undefined) {
  process.on("SIGUSR2", () => {
    writeFileSync(`${file}.part`, JSON.stringify(process.memoryUsage()))
    renameSync(`${file}.part`, file)
  })
}

/**
 * Global set-up of the system tests: all temporary files of a run lie in one directory, removed however it
 * ends. It is in memory where the machine has a file system for that with room enough: the tests sync thousands of times,
 * and a kill of a process, unlike a power cut, leaves such files as it leaves those on a disk. `TMPDIR` says otherwise.
 * Tests have their home there too (`OwnEnvironment.ts`), and their processes what Node compiled for the first of them:
 * compiling is a third of a start.
 */
import { mkdtempSync, statfsSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { holdDefaultPort, moveIn } from "./OwnEnvironment.ts"
import { whenEnded } from "./whenEnded.ts"

const inMemory = "/dev/shm"
const roomBytesMin = 2 ** 32
/** Again while servers that end with the run still write. */
const removal = 'for attempt in 1 2 3 4 5; do rm -rf "$1" && break; sleep 1; done'

export default async () => {
  const chosen = process.env["TMPDIR"]
  const directory = mkdtempSync(join(chosen ?? (hasRoomInMemory() ? inMemory : tmpdir()), "muniment-tests-"))
  process.env["TMPDIR"] = directory
  const remove = whenEnded(removal, directory)
  moveIn(process.env, directory)
  process.env["NODE_COMPILE_CACHE"] = join(directory, "compiled")
  const release = await holdDefaultPort()
  return async () => {
    delete process.env["NODE_COMPILE_CACHE"]
    if (chosen === undefined) delete process.env["TMPDIR"]
    else process.env["TMPDIR"] = chosen
    await remove()
    release()
  }
}

const hasRoomInMemory = (): boolean => {
  try {
    const { bavail, bsize } = statfsSync(inMemory)
    return bavail * bsize >= roomBytesMin
  } catch {
    // Only Linux has it.
    return false
  }
}

/**
 * Global set-up of the system tests: all temporary files of a run lie in one directory, removed at its end. It is in
 * memory where the machine has a file system for that with room enough: the tests sync thousands of times, and a kill
 * of a process, unlike a power cut, leaves such files as it leaves those on a disk. `TMPDIR` says otherwise.
 */
import { mkdtempSync, rmSync, statfsSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const inMemory = "/dev/shm"
const roomBytesMin = 2 ** 32

export default () => {
  const chosen = process.env["TMPDIR"]
  const directory = mkdtempSync(join(chosen ?? (hasRoomInMemory() ? inMemory : tmpdir()), "muniment-tests-"))
  process.env["TMPDIR"] = directory
  return () => {
    if (chosen === undefined) delete process.env["TMPDIR"]
    else process.env["TMPDIR"] = chosen
    rmSync(directory, { recursive: true, force: true })
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

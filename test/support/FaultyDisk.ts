/** A disk that fails on demand below a real server: a small library that is loaded before the C library. */
import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { repository } from "./TestServer.ts"

export interface DiskFault {
  readonly operation: "read" | "write" | "sync"
  /** Part of the path of the files that it hits. */
  readonly path: string
  /** `zeros`: the read succeeds and gives zeros. `short`: half of the write is done. */
  readonly fault: "EIO" | "ENOSPC" | "zeros" | "short"
  readonly times: number
  /** Calls that pass before the first one that fails; default: none. */
  readonly after?: number
}

export interface FaultyDisk {
  /** For the environment of the server. */
  readonly environment: Readonly<Record<string, string>>
  readonly arm: (fault: DiskFault) => void
  readonly disarm: () => void
  /** Whether the last fault has not happened as often as it was to. */
  readonly isArmed: () => boolean
  readonly remove: () => void
}

/** Throws where the machine has no C compiler (`cc`), which the tests of failing disks need. */
export const makeFaultyDisk = (): FaultyDisk => {
  const directory = mkdtempSync(join(tmpdir(), "muniment-faults-"))
  const library = join(directory, "faultyDisk.so")
  const source = join(repository, "test/support/faultyDisk.c")
  const built = spawnSync("cc", ["-shared", "-fPIC", "-O1", "-o", library, source, "-lpthread", "-ldl"], {
    encoding: "utf8"
  })
  if (built.status !== 0) {
    rmSync(directory, { recursive: true })
    throw new Error(`Tests of a failing disk need a C compiler (cc): ${built.stderr ?? String(built.error)}`)
  }
  const armed = join(directory, "armed")
  let armings = 0
  return {
    environment: { LD_PRELOAD: library, MUNIMENT_FAULTS: armed },
    arm: ({ after = 0, fault, operation, path, times }) => {
      // Renamed, so that no call reads half of it.
      writeFileSync(`${armed}.new`, `${operation} ${path} ${fault} ${times} ${after} ${++armings}\n`)
      renameSync(`${armed}.new`, armed)
    },
    disarm: () => rmSync(armed, { force: true }),
    isArmed: () => existsSync(armed),
    remove: () => rmSync(directory, { recursive: true, force: true })
  }
}

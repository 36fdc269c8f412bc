/** The clock of the day of one process, moved while it runs: a small library that is loaded before the C library. */
import { spawnSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { repository } from "./TestServer.ts"

export interface MovedClock {
  /** For the environment of the process. */
  readonly environment: Readonly<Record<string, string>>
  /** By so much from the true time, at once. */
  readonly move: (millis: number) => void
}

/** Makes clocks whose files lie in `directory`. Throws where the machine has no C compiler (`cc`). */
export const clockMaker = (directory: string): ((name: string) => MovedClock) => {
  const library = join(directory, "movedClock.so")
  const source = join(repository, "test/support/movedClock.c")
  const built = spawnSync("cc", ["-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], { encoding: "utf8" })
  if (built.status !== 0)
    throw new Error(`Tests of moved clocks need a C compiler (cc): ${built.stderr ?? String(built.error)}`)
  return (name) => {
    const file = join(directory, `${name}.clock`)
    const move = (millis: number): void => {
      const bytes = Buffer.alloc(8)
      bytes.writeBigInt64LE(BigInt(millis))
      // In place: the process has the file mapped.
      writeFileSync(file, bytes, { flag: "r+" })
    }
    writeFileSync(file, Buffer.alloc(8))
    return { environment: { LD_PRELOAD: library, MUNIMENT_CLOCK: file }, move }
  }
}

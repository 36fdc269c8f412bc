/** Bytes a vector of every contender, each measured in a process of its own (`memoryProcess.ts`). */
import { fork } from "node:child_process"
import { rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { VectorSet } from "./VectorSet.ts"

export interface MemoryRow {
  readonly name: string
  readonly bytesPerVector: number
}

const processMillisMax = 900_000

export const memoryOf = async (names: ReadonlyArray<string>, set: VectorSet): Promise<ReadonlyArray<MemoryRow>> => {
  const file = join(tmpdir(), `muniment-bench-rows-${process.pid}.f32`)
  await writeFile(file, set.rows.subarray(0, set.count * set.dims))
  try {
    const rows: Array<MemoryRow> = []
    for (const name of names) rows.push({ name, bytesPerVector: await measured(name, file, set) })
    return rows
  } finally {
    await rm(file)
  }
}

const measured = (name: string, file: string, { dims, count }: VectorSet): Promise<number> =>
  new Promise((settle, fail) => {
    const child = fork(join(import.meta.dirname, "memoryProcess.ts"), [name, file, String(dims), String(count)], {
      // A small young generation: what it could grow to would drown ten thousand vectors.
      execArgv: ["--expose-gc", "--max-semi-space-size=1", "--disable-warning=ExperimentalWarning"],
      timeout: processMillisMax
    })
    let bytes: number | undefined
    child.once("message", (message) => (bytes = Number(message)))
    child.once("error", fail)
    child.once("exit", (code, signal) => {
      if (bytes !== undefined) settle(bytes)
      else fail(new Error(`the memory of ${name} was not measured: ended by ${signal ?? `code ${code}`}`))
    })
  })

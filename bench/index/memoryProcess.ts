/**
 * Bytes a vector of one contender, as the growth of a fresh process (resident set, after garbage
 * collection): the rows are read from a file a thousand at a time, so nothing else grows with them.
 * Started by `memory.ts` with the contender's name, the file, the dimensions and the count.
 */
import { mkdirSync, mkdtempSync, openSync, readSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import type { Contender, ContenderKind } from "./Contender.ts"
import { contenderKinds } from "./contenders.ts"

const chunkRows = 1_000
const floatBytes = 4
const collections = 3
const collectedMillis = 100
/** So many that every engine is in a form that it has later. */
const warmRows = 1_500

const main = async ([name, file = "", dimsText, countText]: ReadonlyArray<string>): Promise<void> => {
  const [dims, count] = [Number(dimsText), Number(countText)]
  const kind = contenderKinds.find((candidate) => candidate.name === name)
  if (kind === undefined) throw new Error(`there is no contender ${name}`)
  const directory = mkdtempSync(join(tmpdir(), "muniment-bench-memory-"))
  const folder = (part: string): string => {
    mkdirSync(join(directory, part))
    return join(directory, part)
  }
  try {
    const source = { handle: openSync(file, "r"), dims, capacity: count }
    // What libraries, compiled code and the heap take once is not counted.
    // It stays open, so that nothing of it is freed meanwhile, or used again.
    const small = await filled(kind, source, Math.min(warmRows, count), folder("small"))
    const before = await residentBytes()
    const contender = await filled(kind, source, count, folder("whole"))
    const bytes = (await residentBytes()) - before
    await contender.close()
    await small.close()
    process.send?.(bytes / count, () => process.exit(0))
  } finally {
    rmSync(directory, { recursive: true })
  }
}

interface Source {
  readonly handle: number
  readonly dims: number
  readonly capacity: number
}

const filled = async (
  kind: ContenderKind,
  { handle, dims, capacity }: Source,
  count: number,
  directory: string
): Promise<Contender> => {
  const attributes = { chance: new Int32Array(capacity), near: new Int32Array(capacity) }
  const contender = await kind.open({ dims, capacity, directory, attributes })
  const rows = new Float32Array(chunkRows * dims)
  for (let from = 0; from < count; from += chunkRows) {
    const bytes = readSync(handle, rows, 0, rows.byteLength, from * dims * floatBytes)
    const length = Math.min(bytes / floatBytes / dims, count - from)
    await contender.add(
      from,
      Array.from({ length }, (_, at) => rows.subarray(at * dims, (at + 1) * dims))
    )
  }
  await contender.settle()
  return contender
}

const residentBytes = async (): Promise<number> => {
  // Memory outside the heap is given back by a thread, some time after what held it is gone.
  for (let round = 0; round < collections; round++) {
    globalThis.gc?.({ type: "major", execution: "sync", flavor: "last-resort" })
    await setTimeout(collectedMillis)
  }
  return process.memoryUsage.rss()
}

await main(process.argv.slice(2))

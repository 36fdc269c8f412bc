/**
 * Bytes a vector of one contender, as the growth of a fresh process (resident set, after garbage
 * collection): the rows are read from a file a thousand at a time, so nothing else grows with them.
 * Started by `memory.ts` with the contender's name, the file, the dimensions and the count.
 */
import { mkdirSync, mkdtempSync, openSync, readSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Contender, ContenderKind } from "./Contender.ts"
import { contenderKinds } from "./contenders.ts"

const chunkRows = 1_000
const floatBytes = 4
/** So few that what an allocator keeps of them for later hides nothing. */
const warmRows = 500

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
    const small = await filled(kind, source, Math.min(warmRows, count), folder("small"))
    await small.close()
    const before = residentBytes()
    const contender = await filled(kind, source, count, folder("whole"))
    const bytes = residentBytes() - before
    await contender.close()
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

const residentBytes = (): number => {
  // Twice: what the first frees may hold on to memory outside the heap.
  globalThis.gc?.()
  globalThis.gc?.()
  return process.memoryUsage.rss()
}

await main(process.argv.slice(2))

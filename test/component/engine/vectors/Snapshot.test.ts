import { createHash } from "node:crypto"
import { mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { HnswIndex } from "@muniment/engine/vectors/hnsw/HnswIndex"
import { discardSnapshot } from "@muniment/engine/vectors/hnsw/Snapshot"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { buildAll, clustered, hnswlib, makeArena, oracleOf, recallOf } from "./indexFixtures.ts"

const dims = 16
const count = 200
const key = { modelId: "model-a", seq: 1_000 }
const { rows, queries } = clustered(2, 600, dims)
const row = (i: number): Float32Array => rows[i] ?? new Float32Array(dims)

type Rows = ReadonlyMap<number, { readonly vector: Float32Array; readonly seq: number }>
const firstRows: Rows = new Map(rows.slice(0, count).map((vector, slot) => [slot, { vector, seq: slot }]))

const opened = (live: Rows, width = dims): HnswIndex => {
  const index = new HnswIndex(hnswlib, makeArena(width))
  for (const [slot, { vector, seq }] of live) index.upsert(slot, vector, seq)
  return index
}
const built = (live: Rows): HnswIndex => {
  const index = opened(live)
  buildAll(index)
  return index
}
const expectRight = (index: HnswIndex, live: Rows) => {
  const oracle = oracleOf(
    [...live].map(([slot, { vector }]) => [slot, vector] as const),
    dims
  )
  expect(recallOf(index, oracle, queries, 10)).toBeGreaterThanOrEqual(0.98)
  buildAll(index)
  expect(recallOf(index, oracle, queries, 10)).toBeGreaterThanOrEqual(0.98)
}

describe("a snapshot", () => {
  let folder = ""
  let path = ""
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "muniment-index-"))
    path = join(folder, "graph")
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  it("brings the whole graph back", async () => {
    expect(await built(firstRows).writeSnapshot(path, key)).toEqual({ written: true })
    expect(readdirSync(folder).sort()).toEqual(["graph", "graph.labels"])
    const index = opened(firstRows)
    expect(await index.restore(path, key)).toEqual({ restored: true, indexed: count, stale: 0 })
    expect(index.stats().pending).toBe(0)
    expectRight(index, firstRows)
  })

  it("is followed by the changes after it: new, replaced, removed and reused slots", async () => {
    await built(firstRows).writeSnapshot(path, key)
    const later = new Map(firstRows)
    for (let slot = 0; slot < 10; slot++) later.set(slot, { vector: row(300 + slot), seq: 1_001 })
    for (let slot = 10; slot < 20; slot++) later.delete(slot)
    for (let slot = 15; slot < 18; slot++) later.set(slot, { vector: row(400 + slot), seq: 1_002 })
    for (let slot = count; slot < count + 30; slot++) later.set(slot, { vector: row(slot), seq: 1_003 })
    const index = opened(later)
    expect(await index.restore(path, { ...key, seq: 1_003 })).toEqual({ restored: true, indexed: 180, stale: 20 })
    expect(index.stats().pending).toBe(10 + 3 + 30)
    expect(readdirSync(folder)).toEqual([])
    expectRight(index, later)
  })

  it("does not accept another vector with the same sequence number", async () => {
    await built(firstRows).writeSnapshot(path, key)
    const other = new Map(firstRows).set(3, { vector: row(500), seq: 3 })
    const index = opened(other)
    expect(await index.restore(path, key)).toEqual({ restored: true, indexed: count - 1, stale: 1 })
    expectRight(index, other)
  })

  it("is refused while the graph holds a removed vector, until a rebuild", async () => {
    const index = built(firstRows)
    index.remove(0, 2_000)
    expect(await index.writeSnapshot(path, key)).toMatchObject({ written: false })
    expect(readdirSync(folder)).toEqual([])
    index.requestRebuild()
    buildAll(index)
    expect(await index.writeSnapshot(path, { ...key, seq: 2_000 })).toEqual({ written: true })
    const erased = Buffer.from(row(0).buffer, row(0).byteOffset, row(0).byteLength)
    expect(readFileSync(path).includes(erased)).toBe(false)
  })

  it("is not kept when a vector is removed, or the index closed, while it is written", async () => {
    const interruptions = [(index: HnswIndex) => index.remove(0, 2_000), (index: HnswIndex) => index.close()]
    for (const interrupt of interruptions) {
      const index = built(firstRows)
      const writing = index.writeSnapshot(path, key)
      interrupt(index)
      expect(await writing).toMatchObject({ written: false })
      expect(readdirSync(folder)).toEqual([])
    }
  })

  it("holds back the building of the graph while it is written", async () => {
    const index = built(firstRows)
    const writing = index.writeSnapshot(path, key)
    index.upsert(count, row(count), 1_001)
    expect(index.work(1, () => 0)).toBe(1)
    expect(await writing).toEqual({ written: true })
    expect(index.work(1, () => 0)).toBe(0)
  })

  it("reports that it could not be written", async () => {
    const missing = join(folder, "missing", "graph")
    expect(await built(firstRows).writeSnapshot(missing, key)).toMatchObject({ written: false })
  })

  it("is deleted with what an interrupted write left", async () => {
    await built(firstRows).writeSnapshot(path, key)
    writeFileSync(`${path}.writing`, "half a graph")
    writeFileSync(`${path}.labels.writing`, "half of the labels")
    await discardSnapshot(path)
    expect(readdirSync(folder)).toEqual([])
  })

  const doubts: ReadonlyArray<readonly [string, () => void | Promise<unknown>, Partial<typeof key>?]> = [
    ["it was never written", () => discardSnapshot(path)],
    ["it was made for another model", () => {}, { modelId: "model-b" }],
    ["the database was rolled back behind it", () => {}, { seq: 999 }],
    ["its labels are missing", () => rmSync(`${path}.labels`)],
    ["its graph is missing", () => rmSync(path)],
    ["its labels are those of another graph", () => writeFileSync(path, readFileSync(path).reverse())],
    ["its format is of another version", () => resign(path, (bytes) => bytes.writeUInt32LE(1, 8))],
    ["its labels are of another kind of file", () => resign(path, (bytes) => bytes.write("NOTMUNIM", "latin1"))],
    ["its header length is absurd", () => resign(path, (bytes) => bytes.writeUInt32LE(4_000_000_000, 12))],
    ["its header is no JSON", () => resign(path, (bytes) => bytes.write("?", 16))]
  ]
  for (const [doubt, damage, changed] of doubts) {
    it(`is discarded and rebuilt when ${doubt}`, async () => {
      await built(firstRows).writeSnapshot(path, key)
      await damage()
      const index = opened(firstRows)
      expect(await index.restore(path, { ...key, ...changed })).toMatchObject({ restored: false })
      expect(readdirSync(folder)).toEqual([])
      expectRight(index, firstRows)
    })
  }

  it("is discarded when its vectors have another width", async () => {
    await built(firstRows).writeSnapshot(path, key)
    const wide = new HnswIndex(hnswlib, makeArena(dims * 8))
    expect(await wide.restore(path, key)).toMatchObject({ restored: false })
    expect(readdirSync(folder)).toEqual([])
  })

  for (const file of ["graph", "graph.labels"]) {
    it(`is discarded when any byte of ${file} is flipped or its end cut off`, async () => {
      await built(firstRows).writeSnapshot(path, key)
      const whole = new Map(["graph", "graph.labels"].map((name) => [name, readFileSync(join(folder, name))]))
      const size = whole.get(file)?.length ?? 0
      for (let trial = 0; trial < 80; trial++) {
        for (const [name, bytes] of whole) writeFileSync(join(folder, name), bytes)
        // Every header byte in turn, then positions spread over the rest.
        const at = trial < 40 ? trial : Math.floor((size * (trial - 40)) / 40)
        if (trial % 4 === 3) truncateSync(join(folder, file), at)
        else {
          const bytes = Buffer.from(whole.get(file) ?? [])
          bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << (trial % 8)), at)
          writeFileSync(join(folder, file), bytes)
        }
        const index = opened(firstRows)
        expect(await index.restore(path, key)).toMatchObject({ restored: false })
        expect(index.stats().pending).toBe(count)
        expect(readdirSync(folder)).toEqual([])
      }
    })
  }
})

/** Changes the label file and makes its sum right again, as a foreign writer would. */
const resign = (path: string, change: (body: Buffer) => void): void => {
  const bytes = readFileSync(`${path}.labels`)
  const body = bytes.subarray(0, bytes.length - 32)
  change(body)
  writeFileSync(`${path}.labels`, Buffer.concat([body, createHash("sha256").update(body).digest()]))
}

/**
 * A graph on disk, so that opening a namespace need not rebuild it. `path` is hnswlib's own file; `path.labels` holds
 * the model, width and sequence number, the slot and version of every label, and SHA-256 sums over both files.
 *
 * hnswlib loads a file with 2,000 flipped bytes without complaint, so nothing is loaded before its sum is verified; any
 * failed check means a rebuild. Both files are written aside and renamed; a crash between the renames leaves a pair
 * whose sums disagree. A snapshot is disposable and never synced.
 */
import { createHash } from "node:crypto"
import { createReadStream, renameSync } from "node:fs"
import { readFile, rm, stat, writeFile } from "node:fs/promises"
import { Data, Schema } from "effect"
import {
  graphEfConstruction,
  graphM,
  type HnswGraph,
  type HnswlibModule,
  type LabelTable,
  type NativeGraph
} from "./HnswGraph.ts"

const magic = "MUNIHNSW"
/** Since version 2 the elements are rotated. */
const formatVersion = 2
const prefixBytes = magic.length + 8
const digestBytes = 32
const bytesPerLabel = 4 + 8 + 4
const readChunkBytes = 1_048_576

/** The embedding model and the last committed sequence number of a snapshot. */
export interface SnapshotKey {
  readonly modelId: string
  readonly seq: number
}

/** Why a snapshot is not used; the graph is rebuilt. */
export class SnapshotDoubt extends Data.TaggedError("SnapshotDoubt")<{
  readonly message: string
}> {}

const Header = Schema.Struct({
  modelId: Schema.String,
  seq: Schema.Number,
  dims: Schema.Number,
  m: Schema.Number,
  efConstruction: Schema.Number,
  count: Schema.Number,
  graphBytes: Schema.Number,
  graphSha256: Schema.String
})
type Header = typeof Header.Type

const HeaderText = Schema.fromJsonString(Header)
const encodeHeader = Schema.encodeSync(HeaderText)
const decodeHeader = Schema.decodeUnknownSync(HeaderText)

/**
 * Writes graph and labels. `mayKeep` is called in the same turn as the renames: if it returns false (a vector was
 * removed meanwhile), nothing is kept and the result is false.
 */
export const writeSnapshot = async (
  path: string,
  key: SnapshotKey,
  dims: number,
  graph: HnswGraph,
  mayKeep: () => boolean
): Promise<boolean> => {
  const files = filesOf(path)
  const labels = graph.labelTable()
  try {
    await graph.write(files.graphAside)
    const header: Header = {
      modelId: key.modelId,
      seq: key.seq,
      dims,
      m: graphM,
      efConstruction: graphEfConstruction,
      count: labels.slots.length,
      graphBytes: (await stat(files.graphAside)).size,
      graphSha256: await sha256OfFile(files.graphAside)
    }
    await writeFile(files.labelsAside, encodeLabels(header, labels))
    // Asynchronously: freeing the pages of a large old file takes 100 ms.
    await rm(files.labels, { force: true })
    await rm(files.graph, { force: true })
    if (!mayKeep()) return false
    renameSync(files.graphAside, files.graph)
    renameSync(files.labelsAside, files.labels)
    return true
  } finally {
    await rm(files.graphAside, { force: true })
    await rm(files.labelsAside, { force: true })
  }
}

/** Reads and verifies a snapshot; rejects with `SnapshotDoubt` if a check fails. */
export const readSnapshot = async (
  path: string,
  key: SnapshotKey,
  dims: number,
  module: HnswlibModule
): Promise<{ readonly native: NativeGraph; readonly labels: LabelTable }> => {
  const files = filesOf(path)
  try {
    const { header, labels } = decodeLabels(await readFile(files.labels))
    demand(header.modelId === key.modelId, `it was made for the model ${header.modelId}`)
    demand(header.dims === dims, `its vectors have ${header.dims} dimensions`)
    demand(header.m === graphM && header.efConstruction === graphEfConstruction, "it was built with other parameters")
    demand(header.seq <= key.seq, "it is newer than the database, which was rolled back")
    demand((await stat(files.graph)).size === header.graphBytes, "the graph file has another size")
    demand((await sha256OfFile(files.graph)) === header.graphSha256, "the graph file is damaged")
    const native = new module.HierarchicalNSW("ip", dims)
    await native.readIndex(files.graph)
    demand(native.getCurrentCount() === header.count, "the graph holds another number of elements")
    return { native, labels }
  } catch (cause) {
    if (cause instanceof SnapshotDoubt) throw cause
    throw new SnapshotDoubt({ message: cause instanceof Error ? cause.message : String(cause) })
  }
}

/**
 * Deletes a snapshot and the remains of an interrupted write. Call it before a vector is removed or replaced: a
 * snapshot must not outlive the memories in it.
 */
export const discardSnapshot = async (path: string): Promise<void> => {
  for (const file of Object.values(filesOf(path))) await rm(file, { force: true })
}

const filesOf = (path: string) => ({
  graph: path,
  labels: `${path}.labels`,
  graphAside: `${path}.writing`,
  labelsAside: `${path}.labels.writing`
})

// Layout: magic, format version and header length (u32 each, little endian), header as JSON, slots
// (i32), sequence numbers (f64), fingerprints (u32), then SHA-256 of all that.
const encodeLabels = (header: Header, labels: LabelTable): Buffer => {
  const text = Buffer.from(encodeHeader(header), "utf8")
  const prefix = Buffer.alloc(prefixBytes)
  prefix.write(magic, "latin1")
  prefix.writeUInt32LE(formatVersion, magic.length)
  prefix.writeUInt32LE(text.length, magic.length + 4)
  const body = Buffer.concat([prefix, text, bytesOf(labels.slots), bytesOf(labels.seqs), bytesOf(labels.fingerprints)])
  return Buffer.concat([body, createHash("sha256").update(body).digest()])
}

const decodeLabels = (bytes: Buffer): { readonly header: Header; readonly labels: LabelTable } => {
  demand(bytes.length >= prefixBytes + digestBytes, "the label file is too short")
  const body = bytes.subarray(0, bytes.length - digestBytes)
  demand(createHash("sha256").update(body).digest().equals(bytes.subarray(body.length)), "the label file is damaged")
  demand(body.toString("latin1", 0, magic.length) === magic, "the label file is of another kind")
  const version = body.readUInt32LE(magic.length)
  demand(version === formatVersion, `it has format version ${version}`)
  const headerEnd = prefixBytes + body.readUInt32LE(magic.length + 4)
  const header = decodeHeader(body.toString("utf8", prefixBytes, headerEnd))
  const n = header.count
  demand(body.length === headerEnd + n * bytesPerLabel, "the label file has another length than its header says")
  const section = (from: number, length: number) => new Uint8Array(body.subarray(from, from + length)).buffer
  return {
    header,
    labels: {
      slots: new Int32Array(section(headerEnd, n * 4)),
      seqs: new Float64Array(section(headerEnd + n * 4, n * 8)),
      fingerprints: new Uint32Array(section(headerEnd + n * 12, n * 4))
    }
  }
}

const bytesOf = (array: Int32Array | Float64Array | Uint32Array): Uint8Array =>
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength)

const sha256OfFile = async (path: string): Promise<string> => {
  const hash = createHash("sha256")
  for await (const chunk of createReadStream(path, { highWaterMark: readChunkBytes })) hash.update(chunk)
  return hash.digest("hex")
}

const demand = (holds: boolean, message: string): void => {
  if (!holds) throw new SnapshotDoubt({ message })
}

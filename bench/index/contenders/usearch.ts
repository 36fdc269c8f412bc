/**
 * usearch, with its own defaults (connectivity 16, expansion 128 when adding), over float32 or
 * float16. One thread for searches, all for adding many at once. Its width is set when the index is
 * opened, so each width is a view of one file; it offers no filter in JavaScript.
 */
import { stat } from "node:fs/promises"
import { join } from "node:path"
import { isMissing, loadPeer, peerNote } from "../../kit/Peers.ts"
import { type Contender, type ContenderKind, postFilterWidth, type Place, type Slots } from "../Contender.ts"

interface Usearch {
  readonly Index: new (config: object) => UsearchIndex
}

interface UsearchIndex {
  readonly add: (keys: bigint | BigUint64Array, vectors: Float32Array | Array<Float32Array>, threads?: number) => void
  readonly search: (vector: Float32Array, k: number, threads: number) => { readonly keys: BigUint64Array }
  readonly remove: (key: bigint) => number
  readonly save: (path: string) => void
  readonly load: (path: string) => void
  readonly view: (path: string) => void
}

const widths = [16, 32, 64, 100, 160, 256, 400, 800]
/** Width of the first search after opening. */
const coldWidth = 100
const searchThreads = 1
const allThreads = 0

export const usearch = (quantization: "f32" | "f16"): ContenderKind => ({
  name: `usearch ${quantization}`,
  countMax: 1_000_000,
  open: async (place) => {
    const peer = await loadPeer("usearch", isUsearch)
    if (isMissing(peer)) throw new Error(peerNote(peer))
    const config = { dimensions: place.dims, metric: "ip", quantization, connectivity: 16, expansion_add: 128 }
    const open = (width: number) => new peer.module.Index({ ...config, expansion_search: width, multi: false })
    return contender(open, place)
  }
})

const contender = (open: (width: number) => UsearchIndex, { directory, attributes }: Place): Contender => {
  const main = open(64)
  const path = join(directory, "index.usearch")
  const byWidth = new Map<number, UsearchIndex>()
  let isStale = true
  const ofWidth = (width: number): UsearchIndex => {
    if (isStale) main.save(path)
    isStale = false
    let index = byWidth.get(width)
    if (index === undefined) {
      index = open(width)
      index.view(path)
      byWidth.set(width, index)
    }
    return index
  }
  return {
    knob: { name: "expansion", values: widths },
    add: (from, vectors) => {
      if (vectors.length === 1) main.add(BigInt(from), vectors[0]!)
      else
        main.add(
          BigUint64Array.from(vectors, (_, at) => BigInt(from + at)),
          [...vectors],
          allThreads
        )
    },
    settle: () => {
      // A view reads the file it was opened on: the next search opens both again.
      byWidth.clear()
      isStale = true
    },
    search: (query, k, width) => slotsOf(ofWidth(width).search(query, k, searchThreads).keys),
    filterKind: `post-filter of ${postFilterWidth}`,
    searchWhere: (query, k, width, { attribute, below }) => {
      const found = slotsOf(ofWidth(width).search(query, postFilterWidth, searchThreads).keys)
      return found.filter((slot) => attributes[attribute][slot]! < below).slice(0, k)
    },
    replace: (slots, vectors) =>
      slots.forEach((slot, at) => {
        main.remove(BigInt(slot))
        main.add(BigInt(slot), vectors[at]!)
      }),
    persist: async () => {
      const stored = join(directory, "stored.usearch")
      main.save(stored)
      return {
        bytes: (await stat(stored)).size,
        firstAnswer: async (query, k) => {
          const opened = open(coldWidth)
          opened.load(stored)
          return slotsOf(opened.search(query, k, searchThreads).keys)
        }
      }
    },
    close: () => byWidth.clear()
  }
}

const slotsOf = (keys: BigUint64Array): Slots & Array<number> => Array.from(keys, Number)

const isUsearch = (loaded: unknown): loaded is Usearch =>
  typeof loaded === "object" && loaded !== null && "Index" in loaded && typeof loaded.Index === "function"

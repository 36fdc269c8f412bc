/**
 * Scores every live, allowed vector. It is the oracle the other engines are tested against, and
 * the engine for small or strongly filtered sets, where it is also the fastest.
 *
 * Cost is linear: about half a microsecond a vector of 384 dimensions on a free core.
 */
import { type Bitmap, lowestBit } from "./Bitmap.ts"
import { TopK } from "./TopK.ts"
import type { VectorArena } from "./VectorArena.ts"
import type { IndexStats, SearchHits, VectorIndex } from "./VectorIndex.ts"

export class ExactIndex implements VectorIndex {
  readonly kind = "exact"
  private readonly arena: VectorArena

  constructor(arena: VectorArena) {
    this.arena = arena
  }

  get size(): number {
    return this.arena.size
  }

  upsert(slot: number, vector: Float32Array, seq: number): void {
    this.arena.set(slot, vector, seq)
  }

  remove(slot: number, seq: number): void {
    this.arena.clear(slot, seq)
  }

  search(query: Float32Array, k: number, allowed: Bitmap | undefined): SearchHits {
    const top = new TopK(Math.min(k, this.arena.size))
    scanInto(top, this.arena, this.arena.live, allowed, query)
    return top.drain()
  }

  stats(): IndexStats {
    return { live: this.arena.size, pending: 0, stale: 0, rebuilding: false }
  }

  close(): void {}
}

/** Offers every slot of `among` (live slots only) that is also allowed, with its score. */
export const scanInto = (
  top: TopK,
  arena: VectorArena,
  among: Bitmap,
  allowed: Bitmap | undefined,
  query: Float32Array
): void => {
  if (query.length !== arena.dims) throw new RangeError(`expected ${arena.dims} dimensions, got ${query.length}`)
  const words = among.words
  for (let i = 0; i < words.length; i++) {
    let bits = allowed === undefined ? words[i]! : words[i]! & (allowed.words[i] ?? 0)
    for (; bits !== 0; bits &= bits - 1) {
      const slot = (i << 5) + lowestBit(bits)
      top.offer(slot, arena.dot(slot, query))
    }
  }
}

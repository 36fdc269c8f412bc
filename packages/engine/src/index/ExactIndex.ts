/**
 * Scores every live, allowed vector. It is the oracle the other engines are tested against, and
 * the engine for small or strongly filtered sets, where it is also the fastest.
 */
import type { Bitmap } from "./Bitmap.ts"
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
    return this.arena.best(this.arena.prepare(query), k, this.arena.lay(this.arena.live, allowed))
  }

  stats(): IndexStats {
    return { live: this.arena.size, pending: 0, stale: 0, rebuilding: false }
  }

  close(): void {}
}

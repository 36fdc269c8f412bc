/**
 * Exact engine: scores every live, allowed vector. The oracle of the other engines' tests, and the fastest engine for
 * small or strongly filtered sets.
 */
import type { Bitmap } from "../../bitmap/Bitmap.ts"
import type { VectorArena } from "./VectorArena.ts"
import type { IndexStats, SearchHits, VectorIndex } from "../VectorIndex.ts"

export class ExactIndex implements VectorIndex {
  readonly kind = "exact"
  readonly #arena: VectorArena

  constructor(arena: VectorArena) {
    this.#arena = arena
  }

  get size(): number {
    return this.#arena.size
  }

  upsert(slot: number, vector: Float32Array, seq: number): void {
    this.#arena.set(slot, vector, seq)
  }

  remove(slot: number, seq: number): void {
    this.#arena.clear(slot, seq)
  }

  search(query: Float32Array, k: number, allowed: Bitmap | undefined): SearchHits {
    return this.#arena.scan(this.#arena.prepare(query), k, this.#arena.uploadMask(this.#arena.live, allowed))
  }

  stats(): IndexStats {
    return { live: this.#arena.size, pending: 0, stale: 0, rebuilding: false }
  }

  close(): void {}
}

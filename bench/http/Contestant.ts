/**
 * A service that stores, filters and searches memories over HTTP, as the suite sees it. All get the same passages and
 * questions, all vectors are of the same encoder; what else each guarantees is in its traits and in the report.
 */
import type { ChildServer } from "./ChildServer.ts"
import type { Corpus, Passage, Query } from "./Corpus.ts"
import type { Reading } from "./Prometheus.ts"

export interface Traits {
  /** True when a write that was acknowledged is on the disk: synced, and counted so by strace. */
  readonly isDurable: boolean
  /** What an acknowledged write survives. */
  readonly durability: string
  /** What a search compares. */
  readonly search: string
}

/** Where vectors come from: computed by each server for itself, or looked up in the corpus' table. */
export type Encoder = "model" | "given"

export interface StartOptions {
  readonly corpus: Corpus
  readonly encoder: Encoder
  /** Path of the table of given vectors. */
  readonly table: string
  /** An empty directory of its own. */
  readonly directory: string
}

export interface Contestant {
  readonly name: string
  readonly traits: Traits
  /** Rejects where it does not run. */
  readonly start: (options: StartOptions) => Promise<Running>
}

export interface Running {
  readonly name: string
  readonly server: ChildServer
  /** One request; all of one subject. Resolves when the service says that they are stored. */
  readonly store: (passages: ReadonlyArray<Passage>) => Promise<void>
  /** What `resultsMax` hits say, best first. */
  readonly search: (query: Query) => Promise<ReadonlyArray<Hit>>
  /** The service's own timing of a search's stages; empty for peers. */
  readonly reading?: () => Promise<Reading>
  readonly stop: () => Promise<void>
}

export interface Hit {
  readonly name: string
  readonly text: string
}

export const resultsMax = 10

/**
 * Requests to the embedding thread and their replies. Vectors come back as one flat Float32Array[texts * dims],
 * whose buffer is transferred, not copied.
 */
import type { ModelId } from "./ModelCatalog.ts"

export interface ThreadSettings {
  readonly modelsDir: string
  /** Threads inside one run of the network; 1 leaves the other cores to the service. */
  readonly intraOpThreads: number
}

export interface LoadRequest {
  readonly type: "load"
  readonly modelId: ModelId
  readonly dims: number
  readonly pooling: "mean" | "cls"
  readonly textsPerRunMax: number
  readonly tokensPerTextMax: number
}

export interface EmbedRequest {
  readonly type: "embed"
  readonly modelId: ModelId
  /** With their prefixes. */
  readonly texts: ReadonlyArray<string>
}

export type ThreadRequest = LoadRequest | EmbedRequest

export type ThreadReply =
  | { readonly type: "loaded" }
  | { readonly type: "embedded"; readonly vectors: Float32Array<ArrayBuffer> }

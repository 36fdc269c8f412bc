/**
 * What the service and its embedding thread say to each other. Every request gets one reply with
 * its `requestId`; vectors come back as one flat Float32Array[texts * dims] whose buffer is
 * transferred, not copied.
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

/**
 * Finish what is under way, give the models back and end. A thread that is terminated in the middle
 * of a native call takes the whole process with it.
 */
export const closeRequest = { type: "close" } as const

export type Numbered<A> = A & { readonly requestId: number }

export type ThreadReply =
  | { readonly type: "loaded"; readonly requestId: number }
  | { readonly type: "embedded"; readonly requestId: number; readonly vectors: Float32Array<ArrayBuffer> }
  | { readonly type: "failed"; readonly requestId: number; readonly reason: string }

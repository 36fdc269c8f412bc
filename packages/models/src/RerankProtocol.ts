/** Requests to the re-ranking thread and their replies. */

/** A cross-encoder on disk, or its name on the hub. */
export type RerankerPlace =
  | {
      readonly _tag: "Files"
      /** Folder of the folder with the tokenizer's files, and its name. */
      readonly parent: string
      readonly folder: string
      /** The network: its folder below that, and its name without `.onnx`. */
      readonly subfolder: string
      readonly network: string
    }
  | { readonly _tag: "Hub"; readonly name: string; readonly cache: string }

export interface RerankSettings {
  readonly place: RerankerPlace
  readonly intraOpThreads: number
}

/** Without texts the model is loaded, and nothing more. */
export interface RerankRequest {
  readonly query: string
  readonly texts: ReadonlyArray<string>
}

/** In the order of the texts, higher is better; the scale is the model's own. */
export type RerankReply = Float32Array<ArrayBuffer>

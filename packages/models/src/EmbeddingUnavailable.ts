/** No embedding at the moment: search is lexical only, and written memories are embedded later. */
import { Schema } from "effect"

export class EmbeddingUnavailable extends Schema.TaggedError<EmbeddingUnavailable>()(
  "EmbeddingUnavailable",
  { modelId: Schema.String, reason: Schema.String },
  { httpApiStatus: 503 }
) {
  override get message(): string {
    return `${this.modelId}: ${this.reason}`
  }
}

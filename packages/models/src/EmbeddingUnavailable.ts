/** Embedding cannot be had now. Recall then runs on its lexical half, and writes embed later. */
import * as Schema from "effect/Schema"

export class EmbeddingUnavailable extends Schema.TaggedError<EmbeddingUnavailable>()(
  "EmbeddingUnavailable",
  { modelId: Schema.String, reason: Schema.String },
  { httpApiStatus: 503 }
) {
  override get message(): string {
    return `${this.modelId}: ${this.reason}`
  }
}

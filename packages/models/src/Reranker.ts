/**
 * Re-ranking by a cross-encoder of the operator's choice (`MUNIMENT_RERANKER`). Absent unless one is configured: its
 * thread is `RerankThread.ts`, which nothing loads without.
 */
import { Context, type Effect } from "effect"

export class Reranker extends Context.Service<
  Reranker,
  {
    /** As the operator named it. */
    readonly model: string
    /** In the order of the texts, higher is better; undefined where the model cannot say it in time. */
    readonly scores: (query: string, texts: ReadonlyArray<string>) => Effect.Effect<Float32Array | undefined>
  }
>()("muniment/models/Reranker") {}

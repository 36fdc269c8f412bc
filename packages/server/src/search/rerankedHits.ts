/**
 * Hits in the order of a re-ranking model, and what answers say about it: of the language model where a search asks for it
 * (`rerank=model`); else, or where that fails, of the operator's cross-encoder (`MUNIMENT_RERANKER`), if there is one.
 */
import { Clock, Effect, Option } from "effect"
import { Limits } from "@muniment/domain/Limits"
import { toCredits } from "@muniment/domain/Money"
import type { FoundMemories, RerankExplanation } from "@muniment/domain/SearchResult"
import { spentOn } from "@muniment/domain/StageTimes"
import type { MemoryHit, Reordering } from "@muniment/engine/search/MemorySearch"
import { denseText } from "@muniment/engine/text/MemoryText"
import { ModelRanker, type RankRequest } from "@muniment/insight/ranking/ModelRanker"
import { Reranker } from "@muniment/models/Reranker"
import { TokenCosts } from "../credits/ChargedCalls.ts"

type Hits = ReadonlyArray<MemoryHit>

interface AskedOrder {
  readonly text: string
  /** Request to the language model about these hits; undefined: it is not asked. */
  readonly request: ((hits: Hits) => Effect.Effect<RankRequest>) | undefined
}

/** Why there is no order. */
type Problem = NonNullable<FoundMemories["rerankProblem"]>

export interface ToldOrder extends Pick<FoundMemories, "reranked" | "rerankProblem"> {
  readonly explain?: RerankExplanation
}

interface Reranking extends Reordering {
  /** Says what became of the hits. */
  readonly told: () => ToldOrder
}

/** How the hits of one query are put in order; undefined where nothing does that. */
export const makeReranking = Effect.gen(function* () {
  const crossEncoder = Option.getOrUndefined(yield* Effect.serviceOption(Reranker))
  const ranker = yield* ModelRanker
  return ({ request, text }: AskedOrder): Reranking | undefined => {
    if (crossEncoder === undefined && request === undefined) return undefined
    const encoder = crossEncoder && byCrossEncoder(crossEncoder, text)
    const model = request && byLanguageModel(ranker, request)
    let told: ToldOrder = {
      ...(request && { reranked: false }),
      ...(request && model === undefined && { rerankProblem: noModel })
    }
    const by = Effect.fn("rerankedHits")(
      function* (hits: Hits) {
        if (model !== undefined && hits.length > 1) {
          const { explain, ordered, problem } = yield* orderedBy(model, hits)
          told = { reranked: problem === undefined, ...(problem && { rerankProblem: problem }), explain }
          if (problem === undefined) return ordered
        }
        if (encoder === undefined) return hits
        const { explain, ordered } = yield* orderedBy(encoder, hits)
        told = { ...told, explain }
        return ordered
      },
      (ordering) => spentOn("reranking", ordering)
    )
    return { hits: Math.max(encoder?.hitsMax ?? 0, model?.hitsMax ?? 0), by, told: () => told }
  }
})

/** Puts hits in order. */
interface Engine {
  readonly model: string
  /** How many it looks at. */
  readonly hitsMax: number
  /** Places of hits, best first, each once; what it does not name follows in its order. */
  readonly order: (hits: Hits) => Effect.Effect<ReadonlyArray<number>, Problem>
}

const byLanguageModel = (
  { model, rank }: ModelRanker["Service"],
  request: NonNullable<AskedOrder["request"]>
): Engine | undefined =>
  rank && {
    model,
    hitsMax: Limits.modelRankedHitsMax,
    order: (hits) =>
      Effect.flatMap(request(hits), rank).pipe(
        // The model's port logs it.
        Effect.mapError(({ message, reason }) => ({ code: `model_${reason}`, message }))
      )
  }

const byCrossEncoder = ({ model, scores }: Reranker["Service"], text: string): Engine => ({
  model,
  hitsMax: Limits.rerankedHitsMax,
  order: (hits) =>
    Effect.flatMap(scores(text, hits.map(textOf)), (found) =>
      found === undefined ? Effect.fail(noScores) : Effect.succeed(placesByScore(found))
    )
})

const noScores: Problem = { code: "reranker_failed", message: "the re-ranking model failed or took too long" }
const noModel: Problem = { code: "model_missing", message: "this service has no language model" }

const nanosPerMilli = 1e6

/** Keeps the order where the engine has a problem. */
const orderedBy = Effect.fnUntraced(function* ({ hitsMax, model, order }: Engine, hits: Hits) {
  const clock = yield* Clock.Clock
  const costs = yield* TokenCosts
  const [fromNanos, fromMicro] = [clock.monotonicTimeNanosUnsafe(), costs.micro]
  const seen = hits.slice(0, hitsMax)
  const result = yield* Effect.result(order(seen))
  const explain = (ordered: number): RerankExplanation => ({
    model,
    hits: ordered,
    millis: Number(clock.monotonicTimeNanosUnsafe() - fromNanos) / nanosPerMilli,
    credits: toCredits(costs.micro - fromMicro)
  })
  if (result._tag === "Failure") return { ordered: hits, problem: result.failure, explain: explain(0) }
  const places = [...new Set([...result.success, ...hits.keys()])]
  const ordered = places.map((at, place) => (at > place ? { ...hits[at]!, move: "reranked" as const } : hits[at]!))
  return { ordered, problem: undefined, explain: explain(seen.length) }
})

/** The passage that was found of a long message, else the memory. */
const textOf = ({ memory, ranked }: MemoryHit): string => {
  const { passage } = ranked.candidate
  const text = memory.data["text"]
  const found = passage !== undefined && typeof text === "string" ? text.slice(passage.start, passage.end) : undefined
  return (found ?? denseText(memory)).slice(0, Limits.rerankedTextLengthMax)
}

/** Hits with equal scores keep their order. */
const placesByScore = (scores: Float32Array): ReadonlyArray<number> =>
  [...scores.keys()].sort((left, right) => scores[right]! - scores[left]! || left - right)

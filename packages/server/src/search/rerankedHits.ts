/** Hits in the order of a re-ranking model (`MUNIMENT_RERANKER`), and what `explain` says about it. */
import { Clock, Effect, Option } from "effect"
import { Limits } from "@muniment/domain/Limits"
import type { RerankExplanation } from "@muniment/domain/SearchResult"
import type { MemoryHit } from "@muniment/engine/search/MemorySearch"
import { denseText } from "@muniment/engine/text/MemoryText"
import { Reranker } from "@muniment/models/Reranker"

const nanosPerMilli = 1e6

/** How the hits of one query are put in order; undefined without a model. */
export const makeReranking = Effect.map(
  Effect.serviceOption(Reranker),
  Option.match({
    onNone: () => undefined,
    onSome:
      ({ model, scores }) =>
      (text: string) => {
        let explanation: RerankExplanation | undefined
        const by = Effect.fn("rerankedHits")(function* (hits: ReadonlyArray<MemoryHit>) {
          const clock = yield* Clock.Clock
          const fromNanos = clock.monotonicTimeNanosUnsafe()
          const found = yield* scores(text, hits.map(textOf))
          const millis = Number(clock.monotonicTimeNanosUnsafe() - fromNanos) / nanosPerMilli
          explanation = { model, hits: found === undefined ? 0 : hits.length, millis }
          return found === undefined ? hits : inOrderOf(hits, found)
        })
        return { hits: Limits.rerankedHitsMax, by, explanation: () => explanation }
      }
  })
)

/** The passage that was found of a long message, else the memory. */
const textOf = ({ memory, ranked }: MemoryHit): string => {
  const { passage } = ranked.candidate
  const text = memory.data["text"]
  const found = passage !== undefined && typeof text === "string" ? text.slice(passage.start, passage.end) : undefined
  return (found ?? denseText(memory)).slice(0, Limits.rerankedTextLengthMax)
}

const inOrderOf = (hits: ReadonlyArray<MemoryHit>, scores: Float32Array): ReadonlyArray<MemoryHit> =>
  hits
    .map((hit, at) => ({ hit, at, score: scores[at]! }))
    // Of equal scores the order stays.
    .sort((left, right) => right.score - left.score || left.at - right.at)
    .map(({ at, hit }, place) => (at > place ? { ...hit, move: "reranked" as const } : hit))

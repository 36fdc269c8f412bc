/**
 * Feedback (contract: Memories, Feedback): whether a memory was of use, for which query. It is kept with the memory and
 * moves nothing in searches.
 */
import { Schema } from "effect"
import { RecordedAt } from "./GivenTimes.ts"
import { Limits } from "./Limits.ts"
import { QueryText } from "./BodyRules.ts"

const useful = Schema.Boolean.annotate({ description: "Whether the memory was of use." })

/** Body of POST /memories/{id}/feedback; unknown fields are refused. */
export const GivenFeedback = Schema.Struct({
  useful,
  query: Schema.optionalKey(
    QueryText.annotate({ description: "What it was found for; feedback on the same query takes the place of this." })
  )
}).annotate({ examples: [{ useful: true, query: "Where does Alice live?" }] })
export type GivenFeedback = typeof GivenFeedback.Type

/** As it is kept: one for each query, and one without. */
export const Feedback = Schema.Struct({
  useful,
  query: Schema.optionalKey(QueryText),
  at: RecordedAt.annotate({ description: "Milliseconds: when it was given." }),
  by: Schema.optionalKey(Schema.String.annotate({ description: "Key or wallet that gave it." }))
})
export type Feedback = typeof Feedback.Type

/** Feedback of one memory, oldest first. */
export const FeedbackList = Schema.Array(Feedback).check(Schema.isMaxLength(Limits.feedbackPerMemoryMax))

/** With one more, which takes the place of one on the same query; undefined: there are as many as there may be. */
export const withFeedback = (
  given: ReadonlyArray<Feedback> = [],
  added: Feedback
): ReadonlyArray<Feedback> | undefined => {
  const others = given.filter(({ query }) => query !== added.query)
  return others.length < Limits.feedbackPerMemoryMax ? [...others, added] : undefined
}

/** Which memories a list shows by the feedback on them. */
export const FeedbackFilter = Schema.Literals(["given", "useful", "not_useful"])
export type FeedbackFilter = typeof FeedbackFilter.Type

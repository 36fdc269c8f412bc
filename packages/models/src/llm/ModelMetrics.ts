/**
 * Metrics of the language model: calls by purpose and outcome, their time, retries, repair rounds, tokens, the circuit.
 */
import { Effect, Metric } from "effect"
import type { CircuitState } from "./CircuitBreaker.ts"
import type { ModelFailureReason } from "./ModelFailure.ts"
import type { ModelPurpose } from "./StructuredRequest.ts"
import type { TokenCount } from "./TokenCount.ts"

export interface CallFacts {
  readonly purpose: ModelPurpose
  readonly outcome: "answered" | "interrupted" | "defect" | ModelFailureReason
  readonly millis: number
}

const calls = Metric.counter("llm_calls_total", {
  description: "Calls of the language model, by purpose and outcome.",
  incremental: true
})
/** Seconds, 50 ms to about 25 s. */
const seconds = Metric.histogram("llm_call_seconds", {
  description: "Time of a call with its waiting, retries and repair.",
  boundaries: Metric.exponentialBoundaries({ start: 0.05, factor: 2, count: 10 })
})
const tokens = Metric.counter("llm_tokens_total", {
  description: "Tokens that the language model used, by direction; estimated where it does not say.",
  incremental: true
})
const retries = Metric.counter("llm_retries_total", {
  description: "Exchanges with the language model that were tried again.",
  incremental: true
})
const repairs = Metric.counter("llm_repairs_total", {
  description: "Answers that did not match their schema and were asked for again.",
  incremental: true
})
const circuit = Metric.gauge("llm_circuit_state", {
  description: "0 closed, 1 half-open, 2 open: calls are refused."
})

const open = Metric.gauge("llm_calls_open", {
  description: "Calls of the language model under way or waiting for their turn."
})

const circuitLevels: Readonly<Record<CircuitState, number>> = { closed: 0, "half-open": 1, open: 2 }

export const countCall = ({ millis, outcome, purpose }: CallFacts): Effect.Effect<void> =>
  Effect.andThen(
    Metric.update(Metric.withAttributes(calls, { purpose, outcome }), 1),
    Metric.update(Metric.withAttributes(seconds, { purpose }), millis / 1_000)
  )

export const countTokens = ({ inputTokens, outputTokens }: TokenCount): Effect.Effect<void> =>
  Effect.andThen(
    Metric.update(Metric.withAttributes(tokens, { direction: "input" }), inputTokens),
    Metric.update(Metric.withAttributes(tokens, { direction: "output" }), outputTokens)
  )

export const showOpenCalls = (calls: number): Effect.Effect<void> => Metric.update(open, calls)
export const countRetry: Effect.Effect<void> = Metric.update(retries, 1)
export const countRepair: Effect.Effect<void> = Metric.update(repairs, 1)
export const showCircuit = (state: CircuitState): Effect.Effect<void> => Metric.update(circuit, circuitLevels[state])

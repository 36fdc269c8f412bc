/** Admission in `/metrics`. */
import { Effect, Metric } from "effect"
import { Admission } from "./Admission.ts"

const inWork = Metric.gauge("admission_in_work", { description: "Requests in work, by kind of work." })
const inWorkMax = Metric.gauge("admission_in_work_limit", {
  description: "Requests that may be in work at once, by kind; follows the measured time in work."
})
const waiting = Metric.gauge("admission_waiting", { description: "Requests that wait for their turn, by kind." })
const wait = Metric.gauge("admission_wait_seconds", {
  description: "Expected wait of an account that has nothing waiting, by kind."
})
const refused = Metric.counter("admission_refused_total", {
  description: "Requests answered 429 or 503 before any work, by kind and bound.",
  incremental: true
})
const bodyBytes = Metric.gauge("admission_body_bytes", { description: "Bytes of bodies received or being received." })
const answerBytes = Metric.gauge("admission_answer_bytes", {
  description: "Bytes of answers that their callers have not taken."
})
const answersCut = Metric.gauge("admission_answers_cut", {
  description: "Answers cut off since the start: they were not taken in time, or took too much room."
})

/** Counted at the last reading; the counter takes what has come since. */
const counted = new WeakMap<object, Map<string, number>>()

/** Brings them up to date. `countRequests` counts refused ones among all requests. */
export const refreshAdmission = Effect.fnUntraced(function* (
  countRequests: (route: string, status: number, count: number) => Effect.Effect<void>
): Effect.fn.Return<void, never, Admission> {
  const gate = yield* Admission
  const { lanes, refused: refusals, ...state } = gate.state
  for (const [work, lane] of lanes) {
    yield* Metric.update(Metric.withAttributes(inWork, { work }), lane.inWork)
    yield* Metric.update(Metric.withAttributes(inWorkMax, { work }), lane.limit)
    yield* Metric.update(Metric.withAttributes(waiting, { work }), lane.waiting)
    yield* Metric.update(Metric.withAttributes(wait, { work }), lane.waitMillis / 1_000)
  }
  yield* Metric.update(bodyBytes, state.bodyBytes)
  yield* Metric.update(answerBytes, state.answerBytes)
  yield* Metric.update(answersCut, state.answersCut)
  const before = counted.get(gate) ?? new Map<string, number>()
  counted.set(gate, before)
  for (const { bound, count, route, status, work } of refusals) {
    const key = `${work} ${bound} ${status} ${route}`
    const since = count - (before.get(key) ?? 0)
    yield* Metric.update(Metric.withAttributes(refused, { work, bound }), since)
    yield* countRequests(route, status, since)
    before.set(key, count)
  }
})

/** The tables and goals of the overload part. */
import type { Goal, SuiteReport } from "../kit/Report.ts"
import { p50, p99 } from "./Load.ts"
import type { OverloadResult } from "./Overload.ts"

const goalFactor = 5
const wanted = { goodput: 0.8, p99Millis: 2_000, refusalMillis: 50, neighbour: 3, recoverySeconds: 2 }

export const overloadTable = (results: ReadonlyArray<OverloadResult>): SuiteReport["tables"][number] => ({
  title: "Arrivals by capacity",
  columns: [
    "work",
    "capacity /s",
    "factor",
    "goodput by capacity",
    "admitted p50",
    "p99",
    "refused",
    "without Retry-After",
    "refusal p50",
    "second account p99 by idle",
    "its idle p99",
    "its refused",
    "health p99",
    "generator's lag p99",
    "starved",
    "event loop delay p99",
    "CPU of one served, us",
    "of a refusal, us",
    "normal after, s",
    "other answers"
  ],
  rows: results.flatMap(({ capacity, idleP99, kind, rounds, servedMicros }) =>
    rounds.map(
      ({ factor, goodput, healthP99, loopDelayMillis, noisy, quiet, recoverySeconds, refusalMicros, starved }) => [
        kind,
        capacity,
        factor,
        goodput,
        p50(noisy.servedMillis),
        p99(noisy.servedMillis),
        noisy.refusedMillis.length / noisy.sent,
        noisy.refusedWithoutRetryAfter,
        p50(noisy.refusedMillis),
        p99(quiet.servedMillis) / idleP99,
        idleP99,
        quiet.refusedMillis.length,
        healthP99,
        p99(noisy.lagMillis),
        starved,
        loopDelayMillis,
        servedMicros,
        refusalMicros,
        recoverySeconds,
        [...noisy.others].map(([status, count]) => `${count} x ${status}`).join(", ")
      ]
    )
  )
})

export const overloadGoals = ({ idleP99, kind, rounds }: OverloadResult, factorMax: number): ReadonlyArray<Goal> => {
  const round = rounds.find(({ factor }) => factor === factorMax)
  if (round === undefined) return []
  const { noisy, quiet, recoverySeconds } = round
  const at = `${kind} at ${factorMax} by capacity`
  const most = (name: string, limit: number, found: number, unit: string): Goal => ({
    name: `${at}: ${name}`,
    bound: "at most",
    wanted: limit,
    found,
    unit
  })
  return [
    {
      name: `${at}: goodput`,
      bound: "at least",
      wanted: wanted.goodput,
      found: round.goodput,
      unit: "x capacity",
      ...(factorMax === goalFactor ? {} : { note: `the goal is set for ${goalFactor}` })
    },
    most("p99 of admitted", wanted.p99Millis, p99(noisy.servedMillis), "ms"),
    most("refusals without Retry-After", 0, noisy.refusedWithoutRetryAfter, ""),
    most("median refusal", wanted.refusalMillis, p50(noisy.refusedMillis), "ms"),
    most("second account's p99", wanted.neighbour, p99(quiet.servedMillis) / idleP99, "x idle"),
    most("normal again", wanted.recoverySeconds, recoverySeconds, "s")
  ]
}

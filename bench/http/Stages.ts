/** Time of searches by stage, as the service reports it, summed over readings of `/metrics`. */
import { stages } from "./askQuestions.ts"
import type { Reading } from "./Prometheus.ts"

export interface StageTime {
  readonly count: number
  readonly millis: number
}

/** By stage, and `request`: from the first byte of a request to its answer. Empty for peers. */
export type StageTimes = ReadonlyMap<string, StageTime>

export const requestStage = "request"

export const searchStages = (before: Reading | undefined, after: Reading | undefined): StageTimes => {
  if (before === undefined || after === undefined) return new Map()
  const gained = (name: string, label: string): StageTime => {
    const { count, meanMillis } = after.since(before, name, label)
    return { count, millis: count === 0 ? 0 : count * meanMillis }
  }
  return new Map([
    ...stages.map((stage) => [stage, gained("muniment_search_stage_seconds", `stage="${stage}"`)] as const),
    [requestStage, gained("muniment_http_request_seconds", `route="/v1/memories/search"`)]
  ])
}

/** Mean milliseconds of each stage over all samples. */
export const stageMeans = (all: ReadonlyArray<StageTimes>): ReadonlyMap<string, number> => {
  const sums = new Map<string, StageTime>()
  for (const [stage, { count, millis }] of all.flatMap((times) => [...times])) {
    const sum = sums.get(stage) ?? { count: 0, millis: 0 }
    sums.set(stage, { count: sum.count + count, millis: sum.millis + millis })
  }
  return new Map([...sums].map(([stage, { count, millis }]) => [stage, count === 0 ? Number.NaN : millis / count]))
}

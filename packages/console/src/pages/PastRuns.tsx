/**
 * Runs of an evaluation before: which questions a change made worse or better, and the figures over time.
 */
import { decimal, exactMoment, moment } from "../service/text.ts"
import {
  type Asked,
  type Case,
  type Configuration,
  forgetRuns,
  hitsAsked,
  nameOf,
  type PastRun,
  type QuestionSet,
  runsOf
} from "../service/runs.ts"
import { linkTo } from "../service/route.ts"
import { may } from "../service/session.ts"
import { count } from "../service/words.ts"
import { Notice } from "../ui/Notice.tsx"
import { TimeChart } from "../ui/TimeChart.tsx"
export const percent = (share: number): string => `${Math.round(share * 100)} %`

export const letters = ["A", "B"] as const

export const nameOfRun = ({ at, configuration }: PastRun): string => JSON.stringify([at, configuration])

export const runText = ({ at, configuration: { include, recall, rerank }, figures }: PastRun): string =>
  [
    exactMoment(at),
    recall,
    rerank === "" ? "" : "ordered by the model",
    include === "messages" ? "messages only" : include === "extracted" ? "without messages" : "",
    `first ${percent(figures.first)}`
  ]
    .filter((part) => part !== "")
    .join(", ")

/** Places lost since that run; one that is not found is behind all. Undefined: it was not asked then. */
export const lossOf = ({ places, ...one }: Asked, before: PastRun): number | undefined => {
  const then = before.places[nameOf(one)]
  const rank = (place: number): number => (place === 0 ? hitsAsked + 1 : place)
  return then === undefined ? undefined : rank(places[0] ?? 0) - rank(then)
}

/** How many questions the change between the two runs made better and worse, and where to look what was changed. */
export const Changes = ({ asked, before }: { readonly asked: ReadonlyArray<Asked>; readonly before: PastRun }) => {
  const losses = asked.flatMap((one) => lossOf(one, before) ?? [])
  const worse = losses.filter((loss) => loss > 0).length
  const better = losses.filter((loss) => loss < 0).length
  const from = moment(before.at).slice(0, dayLength)
  return (
    <Notice tone={worse > 0 ? "warn" : "good"}>
      Beside the run of {exactMoment(before.at)}: {count(worse)} worse, {count(better)} better,{" "}
      {count(losses.length - worse - better)} as they were.{" "}
      {may("accounts.audit") && (
        <a href={linkTo("audit", { action: "memories", from })}>What operators changed since</a>
      )}
    </Notice>
  )
}

const dayLength = 10

export const Place = ({ place }: { readonly place: number | undefined }) =>
  place === undefined ? null : place === 0 ? <span class="badge bad">not found</span> : <>{count(place)}</>

export const asAsked = (one: Case): Asked | undefined => ("places" in one ? (one as Asked) : undefined)

export const PlaceBefore = ({ before, one }: { readonly before: PastRun; readonly one: Case }) => {
  const asked = asAsked(one)
  const loss = (asked === undefined ? undefined : lossOf(asked, before)) ?? 0
  return (
    <>
      {loss !== 0 && <span class={`badge ${loss > 0 ? "bad" : "good"}`}>{loss > 0 ? "worse" : "better"}</span>}{" "}
      <Place place={before.places[nameOf(one)]} />
    </>
  )
}

const minuteMillis = 60_000

/** Runs of this set before, by each configuration. */
export const Past = (given: {
  readonly set: QuestionSet
  readonly configurations: ReadonlyArray<Configuration>
  readonly onForgotten: () => void
}) => {
  const all = given.configurations.map((configuration) => runsOf(given.set, configuration))
  if (all.every((runs) => runs.length === 0)) return null
  return (
    <section class="stack" aria-label="Runs over time">
      <div class="head">
        <h2>Runs over time</h2>
        <button
          type="button"
          class="plain"
          onClick={() => {
            forgetRuns()
            given.onForgotten()
          }}
        >
          Forget all runs
        </button>
      </div>
      <div class="charts">
        {all.map((runs, at) => (
          <RunChart
            key={letters[at]}
            title={all.length === 1 ? "Shares of the questions" : `Configuration ${letters[at]}`}
            runs={runs}
          />
        ))}
      </div>
      <p class="small muted">
        This browser keeps the last runs, as figures and ids; the questions stay with their memories, in the service.
      </p>
    </section>
  )
}

const RunChart = ({ runs, title }: { readonly runs: ReadonlyArray<PastRun>; readonly title: string }) => {
  const times = runs.map(({ at }) => at)
  const to = (times.at(-1) ?? 0) + 1
  const first = times[0] ?? 0
  const from = first - Math.max(minuteMillis, (to - first) / 10)
  return (
    <TimeChart
      title={title}
      // No time between two runs is a gap.
      frame={{ times, from, to, stepMillis: to - from }}
      text={decimal}
      atLeast={1}
      lines={[
        { name: "hit@10", tone: "a", values: runs.map(({ figures }) => figures.firstTen) },
        { name: "hit@1", tone: "b", values: runs.map(({ figures }) => figures.first) },
        { name: "MRR", tone: "c", values: runs.map(({ figures }) => figures.reciprocalRank) }
      ]}
    />
  )
}

/**
 * Whether searches find what they should: a set of questions with the memories that were of use for them, asked by one
 * configuration or by two side by side; those that fail with the reason, and the runs before over time.
 */
import { useEffect, useMemo, useState } from "preact/hooks"
import type { ApiError } from "../service/api.ts"
import { now } from "../service/browser.ts"
import { asApiError, useLoad } from "../service/load.ts"
import { change, linkTo, parameters } from "../service/route.ts"
import {
  addQuestion,
  askAll,
  type Asked,
  type Case,
  casesMax,
  type Configuration,
  dropQuestion,
  figuresOf,
  forgetRuns,
  hitsAsked,
  keepRuns,
  keyOf,
  nameOf,
  type PastRun,
  questionsOf,
  type QuestionSet,
  runsOf,
  setsRun,
  usual
} from "../service/runs.ts"
import { decimal } from "../service/text.ts"
import { count } from "../service/words.ts"
import { mayChange } from "../service/session.ts"
import { Check, FormDialog, Input } from "../ui/Dialog.tsx"
import { Choice, FacetField, Field, Filters } from "../ui/Field.tsx"
import { Empty, Notice, Refused, Show, Waiting } from "../ui/Notice.tsx"
import { type Column, GrowingTable } from "../ui/Table.tsx"
import { TimeChart } from "../ui/TimeChart.tsx"
import { UserText } from "../ui/UserText.tsx"
import { whyNotFound } from "./Search.tsx"

interface Run {
  readonly asked: ReadonlyArray<Asked>
  readonly configurations: ReadonlyArray<Configuration>
  /** By question: why the first configuration did not find it. */
  readonly reasons: ReadonlyMap<string, ReadonlyArray<string>>
  readonly before: PastRun | undefined
}

/** As many failed questions are looked into by themselves. */
const reasonsMax = 30

export const Evaluate = () => {
  const given = parameters.value
  const text = (name: string): string => given.get(name) ?? ""
  const set: QuestionSet = { agentId: text("agentId"), subjectId: text("subjectId"), tags: text("tags") }
  const [round, setRound] = useState(0)
  const key = JSON.stringify(set)
  const { loaded } = useLoad(async (signal) => ({ of: key, cases: await questionsOf(set, signal) }), [key, round])
  const [one, setOne] = useState<Configuration>(usual)
  const [other, setOther] = useState<Configuration | undefined>(undefined)
  const [isAdding, setAdding] = useState(false)
  const next = (): void => setRound((value) => value + 1)
  return (
    <>
      <div class="head">
        <h2>Evaluate</h2>
        {mayChange() && (
          <div class="actions">
            <button type="button" onClick={() => setAdding(true)}>
              Add a question …
            </button>
          </div>
        )}
      </div>
      <SetFields set={set} />
      <section class="card stack" aria-label="Configurations">
        <ConfigurationFields name={other === undefined ? "" : "A"} value={one} onValue={setOne} />
        <Check
          label="Beside another configuration"
          checked={other !== undefined}
          onChecked={(checked) => setOther(checked ? { ...usual, recall: "strict" } : undefined)}
        />
        {other !== undefined && <ConfigurationFields name="B" value={other} onValue={setOther} />}
      </section>
      <Show of={loaded}>
        {({ cases, of }) =>
          // The questions of the set before are none of this one.
          of !== key ? (
            <Waiting />
          ) : cases.length === 0 ? (
            <NoCases />
          ) : (
            <Questions
              key={JSON.stringify([key, one, other])}
              cases={cases}
              set={set}
              configurations={other === undefined ? [one] : [one, other]}
              onDropped={next}
            />
          )
        }
      </Show>
      {isAdding && <AddQuestion onClose={() => setAdding(false)} onAdded={next} />}
    </>
  )
}

const setName = ({ agentId, subjectId, tags }: QuestionSet): string =>
  [
    ["agent", agentId],
    ["subject", subjectId],
    ["tags", tags]
  ]
    .flatMap(([name, value]) => (value === "" ? [] : [`${name} ${value}`]))
    .join(", ") || "all questions"

const SetFields = ({ set }: { readonly set: QuestionSet }) => {
  const sets = setsRun()
  const current = JSON.stringify(set)
  const known = sets.some((each) => JSON.stringify(each) === current) ? sets : [set, ...sets]
  return (
    <Filters names={["agentId", "subjectId", "tags"]}>
      <Choice
        label="Set of questions"
        value={current}
        options={known.map((each) => [JSON.stringify(each), setName(each)])}
        onValue={(value) => change(JSON.parse(value) as Readonly<Record<string, string>>)}
      />
      <FacetField facet="agents" label="Agent" value={set.agentId} onValue={(agentId) => change({ agentId })} />
      <FacetField
        facet="subjects"
        label="Subject"
        value={set.subjectId}
        onValue={(value) => change({ subjectId: value })}
      />
      <Field label="Tags of the memory" placeholder="any of" value={set.tags} onValue={(tags) => change({ tags })} />
    </Filters>
  )
}

const ConfigurationFields = (given: {
  readonly name: string
  readonly value: Configuration
  readonly onValue: (value: Configuration) => void
}) => {
  const { name, onValue, value } = given
  const label = (text: string): string => (name === "" ? text : `${name}: ${text}`)
  return (
    <div class="fields">
      <Choice
        label={label("Recall")}
        value={value.recall}
        options={[
          ["", "as set by default"],
          ["fast", "fast"],
          ["strict", "strict"]
        ]}
        onValue={(recall) => onValue({ ...value, recall })}
      />
      <Choice
        label={label("Order")}
        value={value.rerank}
        options={[
          ["", "as ranked"],
          ["model", "by the language model"]
        ]}
        onValue={(rerank) => onValue({ ...value, rerank })}
      />
      <Choice
        label={label("What is searched")}
        value={value.include}
        options={[
          ["", "everything"],
          ["extracted", "without messages"],
          ["messages", "messages only"]
        ]}
        onValue={(include) => onValue({ ...value, include })}
      />
    </div>
  )
}

const NoCases = () => (
  <section class="card">
    <Empty title="No questions in this set">
      <p>
        Add a question with the memory that it should find. Or search for something and say of a hit that it is of use:
        that makes a question, too.
      </p>
    </Empty>
  </section>
)

const AddQuestion = ({ onAdded, onClose }: { readonly onAdded: () => void; readonly onClose: () => void }) => {
  const [query, setQuery] = useState("")
  const [id, setId] = useState("")
  return (
    <FormDialog
      title="Add a question"
      action="Add"
      onClose={onClose}
      send={() => addQuestion(id.trim(), query).then(onAdded)}
    >
      <Input label="Question" value={query} onValue={setQuery} required />
      <Input label="Id of the memory that it should find" value={id} onValue={setId} hint="mem_…" required />
      <p class="small muted">It is kept with that memory, as feedback, and goes when the memory goes.</p>
    </FormDialog>
  )
}

const Questions = (given: {
  readonly cases: ReadonlyArray<Case>
  readonly set: QuestionSet
  readonly configurations: ReadonlyArray<Configuration>
  readonly onDropped: () => void
}) => {
  const { cases, configurations, set } = given
  const [run, setRun] = useState<Run | undefined>(undefined)
  const [done, setDone] = useState<number | undefined>(undefined)
  const [error, showError] = useState<ApiError | undefined>(undefined)
  const [, redraw] = useState({})
  const controller = useMemo(() => new AbortController(), [])
  useEffect(() => () => controller.abort(), [])
  const start = async (): Promise<void> => {
    const { signal } = controller
    const [first = usual] = configurations
    const before = runsOf(set, first).at(-1)
    const asked = await askAll(cases, configurations, signal, setDone)
    const reasons = new Map<string, ReadonlyArray<string>>()
    for (const one of asked.filter(({ places }) => places[0] === 0).slice(0, reasonsMax)) {
      const question = { query: one.query, agentId: one.agentId, subjectId: one.subjectId }
      reasons.set(keyOf(one), (await whyNotFound(one.expected[0] ?? "", question, signal)).reasons)
    }
    const at = now()
    keepRuns(
      configurations.map((configuration, index) => ({
        at,
        set,
        configuration,
        questions: asked.length,
        figures: figuresOf(asked, index),
        places: Object.fromEntries(asked.map((one) => [nameOf(one), one.places[index] ?? 0]))
      }))
    )
    setRun({ asked, configurations, reasons, before })
  }
  const begin = (): void => {
    setDone(0)
    showError(undefined)
    start()
      .catch((cause: unknown) => showError(asApiError(cause)))
      .finally(() => setDone(undefined))
  }
  const drop = (one: Case): void => {
    dropQuestion(one).then(given.onDropped, (cause: unknown) => showError(asApiError(cause)))
  }
  return (
    <>
      <div class="head">
        <p role="status">
          {count(cases.length)} {cases.length === 1 ? "question" : "questions"}
          {cases.length === casesMax && `, the first ${count(casesMax)} of this set`}
          {done !== undefined && `, ${count(done)} asked`}
        </p>
        <button type="button" class="primary" disabled={done !== undefined} onClick={begin}>
          {done === undefined ? (run === undefined ? "Run" : "Run again") : "Asking …"}
        </button>
      </div>
      {error !== undefined && <Refused error={error} />}
      {run !== undefined && <FigureTiles run={run} />}
      <GrowingTable
        label="Questions"
        columns={questionColumns(run, drop)}
        rows={run === undefined ? cases : worstFirst(run.asked)}
        keyOf={keyOf}
        empty="No question."
      />
      <Past set={set} configurations={configurations} onForgotten={() => redraw({})} />
    </>
  )
}

const worst = ({ places }: Asked): number => Math.max(...places.map((place) => (place === 0 ? Infinity : place)))

const worstFirst = (asked: ReadonlyArray<Asked>): ReadonlyArray<Asked> =>
  asked.toSorted((one, other) => (worst(other) === worst(one) ? 0 : worst(other) - worst(one)))

const percent = (share: number): string => `${Math.round(share * 100)} %`

const letters = ["A", "B"] as const

const FigureTiles = ({ run: { asked, configurations, reasons } }: { readonly run: Run }) => {
  const all = configurations.map((_, at) => figuresOf(asked, at))
  const shown = [
    ["Found first", all.map(({ first }) => percent(first))],
    ["Among the first 3", all.map(({ firstThree }) => percent(firstThree))],
    [`Among the first ${hitsAsked}`, all.map(({ firstTen }) => percent(firstTen))],
    ["Mean reciprocal rank", all.map(({ reciprocalRank }) => decimal(reciprocalRank))]
  ] as const
  const missed = asked.filter(({ places }) => places[0] === 0).length
  return (
    <>
      <dl class="tiles">
        {shown.map(([name, values]) => (
          <div class="tile" key={name}>
            <dt>{name}</dt>
            <dd>
              {values.length === 1
                ? values[0]
                : values.map((value, at) => (
                    <span key={letters[at]} class="pairwise">
                      <span class="small">{letters[at]}</span> {value}
                    </span>
                  ))}
            </dd>
          </div>
        ))}
      </dl>
      {missed > 0 && (
        <Notice tone="warn">
          {count(missed)} {missed === 1 ? "question does" : "questions do"} not find what was of use
          {missed > reasons.size ? `; the reason of the first ${count(reasons.size)} stands beside them.` : "."}
        </Notice>
      )}
    </>
  )
}

const Place = ({ place }: { readonly place: number | undefined }) =>
  place === undefined ? null : place === 0 ? <span class="badge bad">not found</span> : <>{count(place)}</>

const asAsked = (one: Case): Asked | undefined => ("places" in one ? (one as Asked) : undefined)

const questionColumns = (run: Run | undefined, drop: (one: Case) => void): ReadonlyArray<Column<Case>> => [
  { title: "Question", by: ({ query }) => query, cell: ({ query }) => <UserText of={query} /> },
  { title: "Agent", by: ({ agentId }) => agentId, cell: ({ agentId }) => <UserText of={agentId} /> },
  { title: "Subject", by: ({ subjectId }) => subjectId, cell: ({ subjectId }) => <UserText of={subjectId} /> },
  ...(run?.configurations ?? []).map((_, at): Column<Case> => ({
    title: run?.configurations.length === 1 ? "Place" : `Place, ${letters[at]}`,
    isNumber: true,
    by: (one) => asAsked(one)?.places[at] || Infinity,
    cell: (one) => <Place place={asAsked(one)?.places[at]} />
  })),
  ...(run?.before === undefined
    ? []
    : [
        {
          title: "Run before",
          isNumber: true,
          cell: (one: Case) => <Place place={run.before?.places[nameOf(one)]} />
        }
      ]),
  ...(run === undefined
    ? []
    : [
        {
          title: "Reason",
          cell: (one: Case) => (
            <>
              {run.reasons.get(keyOf(one))?.map((reason) => (
                <p key={reason} class="small">
                  {reason}
                </p>
              ))}
              <WhyLink of={one} />
            </>
          )
        }
      ]),
  ...(run === undefined ? [{ title: "Expected", cell: (one: Case) => <WhyLink of={one} /> }] : []),
  ...(mayChange()
    ? [
        {
          title: "Question set",
          cell: (one: Case) => (
            <button type="button" class="plain" aria-label={`Drop ${one.query}`} onClick={() => drop(one)}>
              Drop
            </button>
          )
        }
      ]
    : [])
]

const WhyLink = ({ of: { agentId, expected, query, subjectId } }: { readonly of: Case }) => (
  <a href={linkTo("search", { query, agentId, subjectId, expected: expected[0] })}>Search and scores</a>
)

const hourMillis = 3_600_000

/** Runs of this set before, by each configuration. */
const Past = (given: {
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
  const from = (times[0] ?? 0) - hourMillis
  const to = (times.at(-1) ?? 0) + 1
  return (
    <TimeChart
      title={title}
      // No time between two runs is a gap.
      frame={{ times, from, to, stepMillis: to - from }}
      text={decimal}
      lines={[
        { name: "hit@10", tone: "a", values: runs.map(({ figures }) => figures.firstTen) },
        { name: "hit@1", tone: "b", values: runs.map(({ figures }) => figures.first) },
        { name: "MRR", tone: "c", values: runs.map(({ figures }) => figures.reciprocalRank) }
      ]}
    />
  )
}

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
  hitsAsked,
  keepRuns,
  keyOf,
  nameOf,
  type PastRun,
  type Progress,
  questionsOf,
  type QuestionSet,
  runsOfSet,
  setsRun,
  usual
} from "../service/runs.ts"
import { patiently } from "../service/exporting.ts"
import { decimal, duration } from "../service/text.ts"
import { count, countOf, sentence } from "../service/words.ts"
import { mayChange } from "../service/session.ts"
import { Check, FormDialog, Input } from "../ui/Dialog.tsx"
import { Choice, FacetField, Field, Filters } from "../ui/Field.tsx"
import { Empty, Notice, Refused, Show, Waiting } from "../ui/Notice.tsx"
import { type Column, GrowingTable } from "../ui/Table.tsx"
import { UserText } from "../ui/UserText.tsx"
import {
  asAsked,
  Changes,
  letters,
  lossOf,
  nameOfRun,
  Past,
  percent,
  Place,
  PlaceBefore,
  runText
} from "./PastRuns.tsx"
import { MemoryChoice } from "./Hits.tsx"
import { whyNotFound } from "./Search.tsx"

interface Run {
  /** Milliseconds. */
  readonly at: number
  readonly asked: ReadonlyArray<Asked>
  readonly configurations: ReadonlyArray<Configuration>
  /** By question: why a configuration did not find it. */
  readonly reasons: ReadonlyMap<string, ReadonlyArray<string>>
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
      isReady={query.trim() !== "" && id !== ""}
      send={() => addQuestion(id, query).then(onAdded)}
    >
      <Input label="Question" value={query} onValue={setQuery} required />
      <MemoryChoice label="Words of the memory that it should find, or its id" chosen={id} onChoose={setId} />
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
  const [progress, tell] = useState<Progress | undefined>(undefined)
  const [error, showError] = useState<ApiError | undefined>(undefined)
  const [, redraw] = useState({})
  const [chosen, setBefore] = useState("")
  const [first = usual] = configurations
  // A run is none before itself.
  const past = runsOfSet(set).filter(({ at }) => at !== run?.at)
  const before =
    past.find((each) => nameOfRun(each) === chosen) ??
    past.find(({ configuration }) => JSON.stringify(configuration) === JSON.stringify(first)) ??
    past[0]
  const controller = useMemo(() => new AbortController(), [])
  useEffect(() => () => controller.abort(), [])
  const start = async (): Promise<void> => {
    const { signal } = controller
    const asked = await askAll(cases, configurations, signal, tell)
    const reasons = new Map<string, ReadonlyArray<string>>()
    for (const one of asked.filter(isMissed).slice(0, reasonsMax)) {
      const wait = (waits: number): void => tell({ done: asked.length, waits })
      reasons.set(keyOf(one), await reasonsOf(one, configurations, wait, signal))
    }
    const at = now()
    setRun({ at, asked, configurations, reasons })
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
  }
  const begin = (): void => {
    tell({ done: 0 })
    showError(undefined)
    start()
      .catch((cause: unknown) => showError(asApiError(cause)))
      .finally(() => tell(undefined))
  }
  const drop = (one: Case): void => {
    dropQuestion(one).then(given.onDropped, (cause: unknown) => showError(asApiError(cause)))
  }
  return (
    <>
      <div class="head">
        <p role="status">
          {countOf(cases.length, "question")}
          {cases.length === casesMax && `, the first ${count(casesMax)} of this set`}
          {progress !== undefined && `, ${count(progress.done)} asked`}
          {progress?.waits !== undefined && `, waits ${duration(progress.waits)} for the limit of calls`}
        </p>
        <button type="button" class="primary" disabled={progress !== undefined} onClick={begin}>
          {progress === undefined ? (run === undefined ? "Run" : "Run again") : "Asking …"}
        </button>
      </div>
      {error !== undefined && <Refused error={error} />}
      {past.length > 0 && (
        <div class="fields wide">
          <Choice
            label="Compared with"
            value={before === undefined ? "" : nameOfRun(before)}
            options={past.map((each) => [nameOfRun(each), runText(each)])}
            onValue={setBefore}
          />
        </div>
      )}
      {run !== undefined && <FigureTiles run={run} before={before} />}
      {run !== undefined && before !== undefined && <Changes asked={run.asked} before={before} />}
      <GrowingTable
        label="Questions"
        columns={questionColumns(run, before, drop)}
        rows={run === undefined ? cases : worstFirst(casesAsked(cases, run.asked), before)}
        keyOf={keyOf}
        empty="No question."
      />
      <Past set={set} configurations={configurations} onForgotten={() => redraw({})} />
    </>
  )
}

const isMissed = ({ places }: Asked): boolean => places.includes(0)

const reasonsOf = async (
  one: Asked,
  configurations: ReadonlyArray<Configuration>,
  wait: (seconds: number) => void,
  signal: AbortSignal
): Promise<ReadonlyArray<string>> => {
  const reasons: Array<string> = []
  for (const [at, { include }] of configurations.entries()) {
    if (one.places[at] !== 0) continue
    const question = { query: one.query, agentId: one.agentId, subjectId: one.subjectId, include }
    const found = await patiently(() => whyNotFound(one.expected[0] ?? "", question, signal), wait, signal).then(
      ({ reasons: all }) => all,
      (cause: unknown) => {
        if (signal.aborted) throw cause
        // Such as of a memory that was deleted meanwhile: the run is none the less whole.
        return [`Why is not known. ${sentence(asApiError(cause).message)}`]
      }
    )
    reasons.push(...found.map((reason) => (configurations.length === 1 ? reason : `${letters[at]}: ${reason}`)))
  }
  return reasons
}

/** The questions of the set now: of those that were asked in the run, with their places. */
const casesAsked = (cases: ReadonlyArray<Case>, asked: ReadonlyArray<Asked>): ReadonlyArray<Case> => {
  const known = new Map(asked.map((one) => [keyOf(one), one]))
  return cases.map((one) => ({ ...known.get(keyOf(one)), ...one }))
}

const worst = (one: Case): number =>
  Math.max(0, ...(asAsked(one)?.places ?? []).map((place) => (place === 0 ? Infinity : place)))

/** Those that lost most since the run before, then those that are found last, then those that were not asked. */
const worstFirst = (cases: ReadonlyArray<Case>, before: PastRun | undefined): ReadonlyArray<Case> => {
  const lost = (one: Case): number => {
    const asked = asAsked(one)
    return Math.max(0, (asked === undefined || before === undefined ? 0 : lossOf(asked, before)) ?? 0)
  }
  return cases.toSorted(
    (one, other) => lost(other) - lost(one) || (worst(other) === worst(one) ? 0 : worst(other) - worst(one))
  )
}

const FigureTiles = (given: { readonly run: Run; readonly before: PastRun | undefined }) => {
  const { asked, configurations, reasons } = given.run
  const then = given.before?.figures
  const all = configurations.map((_, at) => figuresOf(asked, at))
  const shown = [
    ["Found first", all.map(({ first }) => percent(first)), then && percent(then.first)],
    ["Among the first 3", all.map(({ firstThree }) => percent(firstThree)), then && percent(then.firstThree)],
    [`Among the first ${hitsAsked}`, all.map(({ firstTen }) => percent(firstTen)), then && percent(then.firstTen)],
    [
      "Mean reciprocal rank",
      all.map(({ reciprocalRank }) => decimal(reciprocalRank)),
      then && decimal(then.reciprocalRank)
    ]
  ] as const
  const missed = asked.filter(isMissed).length
  return (
    <>
      <dl class="tiles">
        {shown.map(([name, values, old]) => (
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
            {old !== undefined && <dd class="small">{old} before</dd>}
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

const questionColumns = (
  run: Run | undefined,
  before: PastRun | undefined,
  drop: (one: Case) => void
): ReadonlyArray<Column<Case>> => [
  { title: "Question", by: ({ query }) => query, cell: ({ query }) => <UserText of={query} /> },
  { title: "Agent", by: ({ agentId }) => agentId, cell: ({ agentId }) => <UserText of={agentId} /> },
  { title: "Subject", by: ({ subjectId }) => subjectId, cell: ({ subjectId }) => <UserText of={subjectId} /> },
  ...(run?.configurations ?? []).map((_, at): Column<Case> => ({
    title: run?.configurations.length === 1 ? "Place" : `Place, ${letters[at]}`,
    isNumber: true,
    by: (one) => asAsked(one)?.places[at] || Infinity,
    cell: (one) => <Place place={asAsked(one)?.places[at]} />
  })),
  ...(run === undefined || before === undefined
    ? []
    : [
        {
          title: "Run before",
          isNumber: true,
          cell: (one: Case) => <PlaceBefore one={one} before={before} />
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

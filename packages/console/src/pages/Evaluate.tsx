/**
 * Whether searches find what they should: cases made of feedback (as `muniment memories cases` makes them), each asked
 * now, and those that miss with a way to the reason.
 */
import { useState } from "preact/hooks"
import { allOf, searched } from "../service/knowledge.ts"
import { useLoad } from "../service/load.ts"
import { type Found, type Memory, systemText } from "../service/memories.ts"
import { linkTo } from "../service/route.ts"
import { decimal } from "../service/text.ts"
import { count } from "../service/words.ts"
import { Empty, Notice, Show } from "../ui/Notice.tsx"
import { type Column, GrowingTable } from "../ui/Table.tsx"
import { UserText } from "../ui/UserText.tsx"

/** A question within an agent and a subject, and the memories that were of use for it. */
interface Case {
  readonly query: string
  readonly agentId: string | undefined
  readonly subjectId: string | undefined
  readonly expected: ReadonlyArray<string>
}

interface Asked extends Case {
  /** Place of the first expected memory among the hits; undefined: none is there. */
  readonly place: number | undefined
}

const memoriesMax = 1_000
const casesMax = 200
const hitsAsked = 10

const casesOf = (memories: ReadonlyArray<Memory>): ReadonlyArray<Case> => {
  const cases = new Map<string, Case>()
  for (const memory of memories) {
    const agentId = systemText(memory, "agentId")
    const subjectId = systemText(memory, "subjectId")
    for (const { query, useful } of memory.feedback ?? []) {
      if (query === undefined || !useful) continue
      const key = JSON.stringify([query, agentId, subjectId])
      cases.set(key, { query, agentId, subjectId, expected: [...(cases.get(key)?.expected ?? []), memory.id] })
    }
  }
  return [...cases.values()].slice(0, casesMax)
}

const ask = async (one: Case, signal: AbortSignal): Promise<Asked> => {
  const { agentId, query, subjectId } = one
  const { memories } = await searched<Found>({ query, agentId, subjectId, limit: hitsAsked }, signal)
  const at = memories.findIndex(({ id }) => one.expected.includes(id))
  return { ...one, place: at < 0 ? undefined : at + 1 }
}

/** One after the other: a run takes no more of the service than one caller. */
const askAll = async (cases: ReadonlyArray<Case>, signal: AbortSignal): Promise<ReadonlyArray<Asked>> => {
  const asked: Array<Asked> = []
  for (const one of cases) asked.push(await ask(one, signal))
  return asked
}

export const Evaluate = () => {
  const [run, setRun] = useState(0)
  const { loaded } = useLoad(
    async (signal) => {
      const { memories } = await allOf({ feedback: "useful" }, memoriesMax, signal)
      return askAll(casesOf(memories), signal)
    },
    [run]
  )
  return (
    <>
      <div class="head">
        <h2>Evaluate</h2>
        <button type="button" disabled={loaded.state === "loading"} onClick={() => setRun(run + 1)}>
          {loaded.state === "loading" ? "Asking …" : "Ask all again"}
        </button>
      </div>
      <Show of={loaded}>{(asked) => (asked.length === 0 ? <NoCases /> : <Figures asked={asked} />)}</Show>
    </>
  )
}

const NoCases = () => (
  <section class="card">
    <Empty title="No cases yet">
      <p>
        Search for something and say of the hits whether they are of use: each question with a memory of use is a case
        here, which is asked again whenever you look.
      </p>
    </Empty>
  </section>
)

const Figures = ({ asked }: { readonly asked: ReadonlyArray<Asked> }) => {
  const within = (most: number) => asked.filter(({ place }) => place !== undefined && place <= most).length
  const rank = asked.reduce((sum, { place }) => sum + (place === undefined ? 0 : 1 / place), 0) / asked.length
  const missed = asked.length - within(hitsAsked)
  return (
    <>
      <dl class="tiles">
        {[1, 3, hitsAsked].map((most) => (
          <div class="tile" key={most}>
            <dt>{most === 1 ? "Found first" : `Among the first ${most}`}</dt>
            <dd>
              {Math.round((100 * within(most)) / asked.length)} %
              <div class="small">
                {count(within(most))} of {count(asked.length)}
              </div>
            </dd>
          </div>
        ))}
        <div class="tile">
          <dt>Mean reciprocal rank</dt>
          <dd>{decimal(rank)}</dd>
        </div>
      </dl>
      {missed > 0 && (
        <Notice tone="warn">
          {count(missed)} {missed === 1 ? "question does" : "questions do"} not find what was of use: “Why” says what
          keeps it out.
        </Notice>
      )}
      <GrowingTable
        label="Cases"
        columns={caseColumns}
        rows={asked.toSorted((one, other) => (other.place ?? Infinity) - (one.place ?? Infinity) || 0)}
        keyOf={({ agentId, query, subjectId }) => JSON.stringify([query, agentId, subjectId])}
        empty="No case."
      />
    </>
  )
}

const caseColumns: ReadonlyArray<Column<Asked>> = [
  { title: "Question", by: ({ query }) => query, cell: ({ query }) => <UserText of={query} /> },
  { title: "Agent", by: ({ agentId }) => agentId, cell: ({ agentId }) => <UserText of={agentId} /> },
  { title: "Subject", by: ({ subjectId }) => subjectId, cell: ({ subjectId }) => <UserText of={subjectId} /> },
  { title: "Expected", isNumber: true, cell: ({ expected }) => count(expected.length) },
  {
    title: "Place",
    isNumber: true,
    by: ({ place }) => place,
    cell: ({ place }) => (place === undefined ? <span class="badge bad">not found</span> : count(place))
  },
  {
    title: "Reason",
    cell: ({ agentId, expected, query, subjectId }) => (
      <a href={linkTo("search", { query, agentId, subjectId, expected: expected[0] })}>Why</a>
    )
  }
]

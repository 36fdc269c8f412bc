/** Agents with what they hold and how their vectors are searched. */
import type { AgentIndex } from "@muniment/domain/api/AdminApi"
import { useEffect, useState } from "preact/hooks"
import { type Answer, call } from "../service/api.ts"
import { useLoad } from "../service/load.ts"
import { change, parameters } from "../service/route.ts"
import { bytes } from "../service/text.ts"
import { count } from "../service/words.ts"
import { Field } from "../ui/Field.tsx"
import { GrowingTable, type Column } from "../ui/Table.tsx"
import { Show } from "../ui/Notice.tsx"

/** One of an agent's indexes; an agent without vectors has a row too. */
interface Row extends Omit<AgentIndex, "indexes"> {
  readonly index: AgentIndex["indexes"][number] | undefined
}

export const Indexes = () => {
  const account = parameters.value.get("of") ?? ""
  const [pages, setPages] = useState<ReadonlyArray<Answer<"GET /admin/indexes">>>([])
  const [cursor, follow] = useState<string | undefined>(undefined)
  const { loaded } = useLoad(
    (signal) => call("GET", "/admin/indexes", { query: { account, cursor }, signal }),
    [account, cursor]
  )
  useEffect(() => {
    if (loaded.state === "ready") setPages((before) => (cursor === undefined ? [] : before).concat(loaded.value))
  }, [loaded])
  const agents = pages.flatMap((page) => page.agents)
  const next = pages.at(-1)?.nextCursor
  return (
    <section class="stack">
      <div class="facets">
        <Field
          label="Account"
          value={account}
          onValue={(of) => {
            follow(undefined)
            change({ of })
          }}
        />
      </div>
      <Show of={loaded}>
        {() => (
          <GrowingTable
            label="Indexes"
            columns={columns}
            rows={agents.flatMap(({ indexes, ...agent }): ReadonlyArray<Row> =>
              (indexes.length === 0 ? [undefined] : indexes).map((index) => ({ ...agent, index }))
            )}
            keyOf={({ account: owner, agentId, index }) => JSON.stringify([owner, agentId, index?.model])}
            empty="No agent has stored anything yet."
          />
        )}
      </Show>
      {next !== undefined && (
        <button type="button" onClick={() => follow(next)}>
          Next agents
        </button>
      )}
    </section>
  )
}

const columns: ReadonlyArray<Column<Row>> = [
  { title: "Account", by: ({ account }) => account, cell: ({ account }) => <span class="nowrap">{account}</span> },
  { title: "Agent", by: ({ agentId }) => agentId, cell: ({ agentId }) => <span class="nowrap">{agentId}</span> },
  {
    title: "Memories",
    by: ({ memories }) => memories,
    isNumber: true,
    cell: ({ memories }) => (memories === null ? <span class="badge bad">cannot be read</span> : count(memories))
  },
  {
    title: "Bytes",
    by: (row) => row.bytes,
    isNumber: true,
    cell: (row) => (row.bytes === null ? "–" : bytes(row.bytes))
  },
  { title: "Model", cell: ({ index }) => <span class="nowrap">{index?.model ?? ""}</span> },
  {
    title: "Vectors",
    by: ({ index }) => index?.vectors,
    isNumber: true,
    cell: ({ index }) => (index === undefined ? "" : count(index.vectors))
  },
  {
    title: "Engine",
    cell: ({ index }) =>
      index === undefined ? (
        "words alone"
      ) : (
        <span>
          {index.engine} <span class="muted">{index.reason}</span>
        </span>
      )
  },
  {
    title: "Recall",
    isNumber: true,
    cell: ({ index }) => (index === undefined ? "" : index.recall === null ? "–" : `${index.recall * 100} %`)
  },
  { title: "To index", isNumber: true, cell: ({ index }) => (index === undefined ? "" : count(index.backlog)) }
]

/** Last writes of all accounts: when, whose, by whom, and how each ended. */
import type { RequestRecord } from "@muniment/domain/Operations"
import { call } from "../service/api.ts"
import { useLoad } from "../service/load.ts"
import { linkTo } from "../service/route.ts"
import { ago, moment } from "../service/text.ts"
import { Show } from "../ui/Notice.tsx"
import { Table } from "../ui/Table.tsx"

const shownMax = 6
const writes = ["create", "update", "delete", "batchCreate", "batchUpdate", "batchDelete"]

export const LastWrites = ({ refreshMillis }: { readonly refreshMillis: number }) => {
  const { loaded } = useLoad(
    async (signal) => {
      const logs = await Promise.all(writes.map((name) => lastOf(`memories.${name}`, signal)))
      return logs
        .flat()
        .sort((one, other) => other.id - one.id)
        .slice(0, shownMax)
    },
    [],
    refreshMillis
  )
  return (
    <section class="stack" aria-label="Last writes">
      <div class="head">
        <h2>Last writes</h2>
        <a class="small" href={linkTo("audit", { show: "requests", operation: "memories" })}>
          All calls
        </a>
      </div>
      <Show of={loaded}>
        {(calls) =>
          calls.length === 0 ? (
            <p class="muted">Nothing was written in the days for which calls are kept.</p>
          ) : (
            <Table
              label="Calls that wrote last"
              rows={calls}
              keyOf={({ id }) => String(id)}
              columns={[
                { title: "When", cell: ({ at }) => <span title={moment(at)}>{ago(at)}</span> },
                { title: "Account", cell: ({ account }) => account ?? <span class="muted">not known</span> },
                { title: "By", cell: ({ caller }) => <span class="mono">{caller ?? ""}</span> },
                { title: "Operation", cell: ({ operation }) => <span class="mono">{operation}</span> },
                {
                  title: "Outcome",
                  cell: ({ status }) => <span class={`badge ${status < 400 ? "good" : "warn"}`}>{status}</span>
                }
              ]}
            />
          )
        }
      </Show>
    </section>
  )
}

const lastOf = async (operation: string, signal: AbortSignal): Promise<ReadonlyArray<RequestRecord>> => {
  const query = { operation, limit: shownMax }
  return (await call<{ readonly requests: ReadonlyArray<RequestRecord> }>("GET", "/admin/requests", { query, signal }))
    .requests
}

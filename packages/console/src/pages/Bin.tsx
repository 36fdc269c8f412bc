/** What was deleted from this window within the last hour, to be stored anew. */
import { useState } from "preact/hooks"
import type { ApiError } from "../service/api.ts"
import { asApiError } from "../service/load.ts"
import { systemText } from "../service/memories.ts"
import { moment } from "../service/text.ts"
import { type Binned, binned, emptyBin, restoreBinned } from "../service/undo.ts"
import { count, countOfMemories, summary } from "../service/words.ts"
import { Empty, Refused } from "../ui/Notice.tsx"
import { type Column, GrowingTable } from "../ui/Table.tsx"
import { UserText } from "../ui/UserText.tsx"

export const Bin = () => {
  const entries = binned()
  const [error, showError] = useState<ApiError | undefined>(undefined)
  const [isRunning, setRunning] = useState(false)
  const restore = (chosen: ReadonlyArray<Binned>): void => {
    setRunning(true)
    showError(undefined)
    restoreBinned(chosen)
      .catch((cause: unknown) => showError(asApiError(cause)))
      .finally(() => setRunning(false))
  }
  return (
    <>
      <div class="head">
        <h2>{entries.length === 0 ? "Bin" : `${countOfMemories(entries.length)} in the bin`}</h2>
        {entries.length > 0 && (
          <div class="actions">
            <button type="button" disabled={isRunning} onClick={() => restore(entries)}>
              Restore all
            </button>
            <button type="button" class="danger" disabled={isRunning} onClick={emptyBin}>
              Empty the bin
            </button>
          </div>
        )}
      </div>
      {error !== undefined && <Refused error={error} />}
      {entries.length === 0 ? (
        <section class="card">
          <Empty title="The bin is empty">
            <p>{kept}</p>
          </Empty>
        </section>
      ) : (
        <>
          <p class="muted">{kept}</p>
          <GrowingTable
            label="Deleted memories"
            columns={columnsOf(isRunning, restore)}
            rows={entries}
            keyOf={({ memory }) => memory.id}
            empty=""
          />
        </>
      )}
    </>
  )
}

const kept =
  "A deleted memory leaves the service at once. This window alone still has it, for an hour or until it is closed or loaded anew. Restored, it is stored anew: with another id and the time of now, without feedback and the link to its messages; memories taken from a deleted message do not come back with it. What was erased, or deleted by a filter, is not here."

const columnsOf = (
  isRunning: boolean,
  restore: (chosen: ReadonlyArray<Binned>) => void
): ReadonlyArray<Column<Binned>> => [
  {
    title: "Memory",
    by: ({ memory }) => summary(memory.data),
    cell: ({ memory }) => <UserText of={summary(memory.data)} />
  },
  { title: "Kind", by: ({ memory }) => memory.kind, cell: ({ memory }) => memory.kind },
  {
    title: "Subject",
    by: ({ memory }) => systemText(memory, "subjectId"),
    cell: ({ memory }) => <UserText of={systemText(memory, "subjectId")} />
  },
  {
    title: "Agent",
    by: ({ memory }) => systemText(memory, "agentId"),
    cell: ({ memory }) => <UserText of={systemText(memory, "agentId")} />
  },
  { title: "Versions", isNumber: true, by: ({ older }) => older.length, cell: ({ older }) => count(older.length + 1) },
  { title: "Deleted", isNumber: true, by: ({ deletedAt }) => deletedAt, cell: ({ deletedAt }) => moment(deletedAt) },
  {
    title: "Bring back",
    cell: (entry) => (
      <button
        type="button"
        class="plain"
        disabled={isRunning}
        aria-label={`Restore ${summary(entry.memory.data)}`}
        onClick={() => restore([entry])}
      >
        Restore
      </button>
    )
  }
]

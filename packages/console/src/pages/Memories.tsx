/** Memories of an account's agents: filters, a list of any length, one memory beside it. */
import { useEffect, useRef, useState } from "preact/hooks"
import { call, type ApiError } from "../service/api.ts"
import { dataFilterOf, type Memory, type MemoryFilters, systemNumber, systemText } from "../service/memories.ts"
import { type MemoryPages, pageSize, useMemoryPages } from "../service/memoryPages.ts"
import { change, linkTo, parameters } from "../service/route.ts"
import { moment } from "../service/text.ts"
import { forget, memoryChanges } from "../service/undo.ts"
import { count, countOfMemories, summary } from "../service/words.ts"
import { Filters, FacetField, Choice, Field } from "../ui/Field.tsx"
import { Confirm } from "../ui/Dialog.tsx"
import { LongList } from "../ui/Table.tsx"
import { Empty, NothingStored, Refused } from "../ui/Notice.tsx"
import { allOf } from "../service/knowledge.ts"
import { BulkActions } from "./BulkActions.tsx"
import { MemoryPanel } from "./MemoryPanel.tsx"
import { UserText } from "../ui/UserText.tsx"
import { asApiError } from "../service/load.ts"
import { mayChange } from "../service/session.ts"

const filtersOf = (given: URLSearchParams): MemoryFilters => {
  const text = (name: string) => given.get(name) ?? undefined
  return {
    agentId: text("agentId"),
    subjectId: text("subjectId"),
    threadId: text("threadId"),
    kind: text("kind"),
    tags: text("tags"),
    data: dataFilterOf(text("data") ?? ""),
    include: text("include"),
    includeSuperseded: given.get("versions") === "all" ? true : undefined
  }
}

export const Memories = () => {
  const given = parameters.value
  const filters = filtersOf(given)
  const key = JSON.stringify(filters)
  const [round, setRound] = useState(0)
  const pages = useMemoryPages(filters, `${round} ${memoryChanges.value}`)
  const chosen = given.get("id") ?? undefined
  const [isDeleting, setDeleting] = useState(false)
  const selection = useSelection(filters, pages, key)
  const next = (): void => setRound((value) => value + 1)
  return (
    <>
      <div class="head">
        <h2>{pages.total === undefined ? "Memories" : countOfMemories(pages.total)}</h2>
        {mayChange() && (
          <div class="actions">
            <a class="button" href={linkTo("add", { agentId: filters.agentId, subjectId: filters.subjectId })}>
              Add …
            </a>
            <button
              type="button"
              class="danger"
              disabled={!isRestricted(filters) || hasMoreFilters(filters) || (pages.total ?? 0) === 0}
              title="By agent, subject, thread, kind or tags: set one of them first, and neither Data nor What"
              onClick={() => setDeleting(true)}
            >
              Delete all of these …
            </button>
          </div>
        )}
      </div>
      <FilterFields filters={filters} />
      {pages.error !== undefined && (
        <>
          <Refused error={pages.error} />
          <div class="actions">
            <button type="button" onClick={pages.askAgain}>
              Ask again
            </button>
          </div>
        </>
      )}
      <div class={`split ${chosen === undefined ? "" : "open"}`}>
        {pages.total === 0 ? (
          <section class="card">
            {isRestricted(filters) || hasMoreFilters(filters) ? (
              <Empty title="No memories">
                <p>Nothing matches these filters.</p>
              </Empty>
            ) : (
              <NothingStored />
            )}
          </section>
        ) : (
          <div class="list">
            {mayChange() && (selection.chosen.size > 0 || selection.isReading) && (
              <BulkActions
                chosen={[...selection.chosen.values()]}
                note={selection.note}
                onClear={selection.clear}
                onChanged={next}
                onRefused={selection.keep}
              />
            )}
            {selection.error !== undefined && <Refused error={selection.error} />}
            {(pages.total !== undefined || pages.error === undefined) && (
              <Listed pages={pages} chosen={chosen} selection={selection} />
            )}
          </div>
        )}
        {chosen !== undefined && (
          <MemoryPanel key={chosen} id={chosen} onClose={() => change({ id: "" })} onChanged={next} />
        )}
      </div>
      {isDeleting && (
        <DeleteAll filters={filters} listed={pages.total ?? 0} onClose={() => setDeleting(false)} onDone={next} />
      )}
    </>
  )
}

const FilterFields = ({ filters }: { readonly filters: MemoryFilters }) => (
  <Filters names={["agentId", "subjectId", "threadId", "kind", "tags", "data", "include", "versions"]}>
    <FacetField facet="agents" label="Agent" value={filters.agentId ?? ""} onValue={(agentId) => change({ agentId })} />
    <FacetField
      facet="subjects"
      label="Subject"
      value={filters.subjectId ?? ""}
      onValue={(subjectId) => change({ subjectId })}
    />
    <FacetField
      facet="threads"
      label="Thread"
      value={filters.threadId ?? ""}
      onValue={(threadId) => change({ threadId })}
    />
    <FacetField facet="kinds" label="Kind" value={filters.kind ?? ""} onValue={(kind) => change({ kind })} />
    <Field label="Tags" placeholder="any of" value={filters.tags ?? ""} onValue={(tags) => change({ tags })} />
    <Field
      label="Data"
      placeholder="city=Oslo"
      value={parameters.value.get("data") ?? ""}
      onValue={(data) => change({ data })}
    />
    <Choice
      label="What"
      value={filters.include ?? "all"}
      options={[
        ["all", "everything"],
        ["extracted", "without messages"],
        ["messages", "messages only"]
      ]}
      onValue={(include) => change({ include: include === "all" ? "" : include })}
    />
    <Choice
      label="Versions"
      value={parameters.value.get("versions") ?? "latest"}
      options={[
        ["latest", "latest only"],
        ["all", "superseded too"]
      ]}
      onValue={(versions) => change({ versions: versions === "latest" ? "" : versions })}
    />
  </Filters>
)

const Listed = (given: {
  readonly pages: MemoryPages
  readonly chosen: string | undefined
  readonly selection: Selection
}) => {
  const { chosen, pages, selection } = given
  const isWhole = selection.chosen.size > 0 && selection.chosen.size === pages.total
  return (
    <>
      <div class="titles">
        {mayChange() && (
          <label class="tick">
            <input
              type="checkbox"
              checked={isWhole}
              indeterminate={selection.chosen.size > 0 && !isWhole}
              disabled={selection.isReading}
              aria-label="Choose all that match"
              onClick={() => (isWhole ? selection.clear() : selection.selectAll())}
            />
          </label>
        )}
        <span aria-hidden="true">Memory</span>
        <span class="wide first" aria-hidden="true">
          Kind
        </span>
        <span class="wide" aria-hidden="true">
          Subject
        </span>
        <span class="wide" aria-hidden="true">
          Agent
        </span>
        <span class="number" aria-hidden="true">
          Stored
        </span>
      </div>
      <LongList<Memory>
        label="Memories"
        total={pages.total ?? pageSize}
        rowOf={pages.rowOf}
        rowsBefore={pages.rowsBefore}
        keyOf={({ id }) => id}
        isCurrent={({ id }) => id === chosen}
        classOf={({ context }) => (context.isLatest ? "" : "superseded")}
        onChoose={({ id }) => change({ id })}
        onView={pages.view}
        isFailed={pages.error !== undefined}
        selection={
          mayChange()
            ? {
                has: ({ id }) => selection.chosen.has(id),
                nameOf: ({ data }) => summary(data),
                onSelect: selection.select,
                onSelectAll: selection.selectAll
              }
            : undefined
        }
      >
        {(memory) => (
          <>
            <span class="what">
              <UserText of={summary(memory.data)} />
            </span>
            <span class="muted wide first">{memory.kind}</span>
            <span class="muted wide">
              <UserText of={systemText(memory, "subjectId")} />
            </span>
            <span class="muted wide">
              <UserText of={systemText(memory, "agentId")} />
            </span>
            <StoredAt memory={memory} />
          </>
        )}
      </LongList>
    </>
  )
}

interface Selection {
  readonly chosen: ReadonlyMap<string, Memory>
  readonly note: string
  readonly error: ApiError | undefined
  /** All that match are being read. */
  readonly isReading: boolean
  readonly select: (index: number, isRange: boolean) => void
  readonly selectAll: () => void
  readonly clear: () => void
  /** What is chosen stays for the next change: it was done in part, and may be tried again. */
  readonly keep: () => void
}

/** As many memories are chosen at once at most. */
const chosenMax = 10_000

/** Chosen rows, which other filters end; a change of memories too, after which the rows are no longer as they were read. */
const useSelection = (filters: MemoryFilters, pages: MemoryPages, key: string): Selection => {
  const [chosen, setChosen] = useState<ReadonlyMap<string, Memory>>(new Map())
  const [note, setNote] = useState("")
  const [error, showError] = useState<ApiError | undefined>(undefined)
  const [isReading, setReading] = useState(false)
  const anchor = useRef(0)
  const reading = useRef(new AbortController())
  const clear = (): void => {
    reading.current.abort()
    setChosen(new Map())
    setNote("")
    showError(undefined)
    setReading(false)
    anchor.current = 0
  }
  const kept = useRef(-1)
  useEffect(() => {
    const isKept = kept.current === memoryChanges.value
    kept.current = -1
    if (!isKept) clear()
    return () => reading.current.abort()
  }, [key, memoryChanges.value])
  const select = (index: number, isRange: boolean): void => {
    const [from, to] = isRange ? [Math.min(anchor.current, index), Math.max(anchor.current, index)] : [index, index]
    const rows = Array.from({ length: to - from + 1 }, (_, at) => pages.rowOf(from + at))
    const known = rows.filter((row) => row !== undefined)
    const next = new Map(chosen)
    for (const row of known) {
      if (!isRange && next.has(row.id)) next.delete(row.id)
      else next.set(row.id, row)
    }
    anchor.current = index
    setChosen(next)
    const left = rows.length - known.length
    setNote(left === 0 ? "" : `${count(left)} rows between are not loaded yet, and not chosen.`)
  }
  const selectAll = (): void => {
    const controller = new AbortController()
    reading.current.abort()
    reading.current = controller
    setReading(true)
    showError(undefined)
    allOf({ ...filters }, chosenMax, controller.signal, (done, total) =>
      setNote(`Reading ${count(done)} of ${count(total)} …`)
    )
      .then(
        ({ memories, total }) => {
          setChosen(new Map(memories.slice(0, chosenMax).map((memory) => [memory.id, memory])))
          setNote(total > chosenMax ? `The newest ${count(chosenMax)} of ${count(total)}: no more at once.` : "")
        },
        (cause: unknown) => {
          if (!controller.signal.aborted) showError(asApiError(cause))
        }
      )
      .finally(() => {
        if (!controller.signal.aborted) setReading(false)
      })
  }
  const keep = (): void => {
    kept.current = memoryChanges.value + 1
  }
  return { chosen, note, error, isReading, select, selectAll, clear, keep }
}

/** In wide windows with the time of day. */
const StoredAt = ({ memory }: { readonly memory: Memory }) => {
  const at = systemNumber(memory, "createdAt")
  const [day = "", clock = ""] = at === undefined ? [] : moment(at).split(" ")
  return (
    <span class="muted number">
      {day} <span class="clock">{clock}</span>
    </span>
  )
}

const isRestricted = ({ agentId, kind, subjectId, tags, threadId }: MemoryFilters): boolean =>
  [agentId, subjectId, threadId, kind, tags].some((value) => value !== undefined && value !== "")

/** Filters of the list that a deletion has not: it would take what the list does not show. */
const hasMoreFilters = ({ data, include }: MemoryFilters): boolean => data !== undefined || include !== undefined

/** Typed before memories that no bin keeps are gone. */
const deleteWord = "delete"

const DeleteAll = (given: {
  readonly filters: MemoryFilters
  /** How many the list has: of most kinds the latest versions alone. */
  readonly listed: number
  readonly onClose: () => void
  readonly onDone: () => void
}) => {
  const { agentId, kind, subjectId, tags, threadId } = given.filters
  const filters = Object.fromEntries(
    Object.entries({ agentId, subjectId, threadId, kind, tags: tags?.split(",").map((tag) => tag.trim()) }).filter(
      ([, value]) => value !== undefined && value !== ""
    )
  )
  const remove = (dryRun: boolean) =>
    call("POST", "/v1/memories/batch/delete", {
      body: { filters, dryRun, versions: "all" }
    })
  return (
    <Confirm
      title="Delete all memories that match"
      action="Delete"
      word={deleteWord}
      preview={() => remove(true)}
      describe={({ deleted }) => (
        <p>
          This deletes <strong>{countOfMemories(deleted)}</strong> for good, without the bin
          {deleted > given.listed
            ? `: ${count(given.listed)} of the list, and ${count(deleted - given.listed)} that it leaves out, such as older versions.`
            : "."}
        </p>
      )}
      run={async () => {
        await remove(false)
        change({ id: "" })
        forget(filters)
        given.onDone()
      }}
      onClose={given.onClose}
    />
  )
}

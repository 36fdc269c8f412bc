/** Memories of an account's agents: filters, a list of any length, one memory beside it. */
import { useState, useEffect, useMemo, useRef } from "preact/hooks"
import { call, type ApiError } from "../service/api.ts"
import {
  dataFilterOf,
  type Memory,
  type MemoryFilters,
  systemNumber,
  systemText,
  listMemories
} from "../service/memories.ts"
import { change, parameters } from "../service/route.ts"
import { moment } from "../service/text.ts"
import { count, countOfMemories, summary } from "../service/words.ts"
import { Filters, FacetField, Choice, Field } from "../ui/Field.tsx"
import { Confirm } from "../ui/Dialog.tsx"
import { LongList } from "../ui/Table.tsx"
import { Empty, NothingStored, Refused } from "../ui/Notice.tsx"
import { MemoryPanel } from "./MemoryPanel.tsx"
import { UserText } from "../ui/UserText.tsx"
import { asApiError } from "../service/load.ts"

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
  const pages = useMemoryPages(filters, `${key} ${round}`)
  const chosen = given.get("id") ?? undefined
  const [isDeleting, setDeleting] = useState(false)
  return (
    <>
      <div class="head">
        <h2>{pages.total === undefined ? "Memories" : countOfMemories(pages.total)}</h2>
        <div class="actions">
          <button
            type="button"
            class="danger"
            disabled={!isRestricted(filters) || filters.data !== undefined || (pages.total ?? 0) === 0}
            title="By agent, subject, thread, kind or tags: set one of them first"
            onClick={() => setDeleting(true)}
          >
            Delete all of these …
          </button>
        </div>
      </div>
      <FilterFields filters={filters} />
      {pages.error !== undefined && <Refused error={pages.error} />}
      <div class={`split ${chosen === undefined ? "" : "open"}`}>
        {pages.total === 0 ? (
          <section class="card">
            {isRestricted(filters) || filters.data !== undefined || filters.include !== undefined ? (
              <Empty title="No memories">
                <p>Nothing matches these filters.</p>
              </Empty>
            ) : (
              <NothingStored />
            )}
          </section>
        ) : (
          <Listed pages={pages} chosen={chosen} />
        )}
        {chosen !== undefined && (
          <MemoryPanel
            key={chosen}
            id={chosen}
            onClose={() => change({ id: "" })}
            onChanged={() => setRound((value) => value + 1)}
          />
        )}
      </div>
      {isDeleting && (
        <DeleteAll
          filters={filters}
          listed={pages.total ?? 0}
          onClose={() => setDeleting(false)}
          onDone={() => setRound((value) => value + 1)}
        />
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

const Listed = ({ pages, chosen }: { readonly pages: MemoryPages; readonly chosen: string | undefined }) => (
  <div class="list">
    <div class="titles" aria-hidden="true">
      <span>Memory</span>
      <span class="wide first">Kind</span>
      <span class="wide">Subject</span>
      <span class="wide">Agent</span>
      <span class="number">Stored</span>
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
  </div>
)

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
      preview={() => remove(true)}
      describe={({ deleted }) => (
        <p>
          This deletes <strong>{countOfMemories(deleted)}</strong> for good
          {deleted > given.listed
            ? `: ${count(given.listed)} of the list, and ${count(deleted - given.listed)} that it leaves out, such as older versions.`
            : "."}
        </p>
      )}
      run={async () => {
        await remove(false)
        given.onDone()
      }}
      onClose={given.onClose}
    />
  )
}

/**
 * A list of memories of any length, read page by page from both its ends: the service gives a cursor to the next page,
 * none to a page in the middle. Each page is read from the end that is nearer to the rows in view.
 *
 * Invariant: one page is asked for at a time, and no memory is held twice.
 */
const pageSize = 100

interface MemoryPages {
  readonly total: number | undefined
  readonly error: ApiError | undefined
  readonly rowOf: (index: number) => Memory | undefined
  /** How many rows are read before this one, those of its page apart. */
  readonly rowsBefore: (index: number) => number
  readonly view: (first: number, last: number) => void
}

interface End {
  readonly order: "asc" | "desc"
  readonly rows: Array<Memory>
  cursor: string | undefined
}

const emptyList = () => ({
  newest: { order: "desc", rows: [], cursor: undefined } as End,
  oldest: { order: "asc", rows: [], cursor: undefined } as End,
  known: new Set<string>(),
  total: undefined as number | undefined,
  error: undefined as ApiError | undefined,
  isAsking: false,
  controller: new AbortController()
})
type List = ReturnType<typeof emptyList>

/** The end to read on from for the rows in view and a page on either side; none where all of them are there. */
const nextEnd = ({ newest, oldest, total }: List, view: { first: number; last: number }): End | undefined => {
  if (total === undefined) return newest
  const gapEnd = total - oldest.rows.length
  const from = Math.max(view.first - pageSize, newest.rows.length)
  const to = Math.min(view.last + pageSize, gapEnd)
  if (from >= to) return undefined
  return to - newest.rows.length <= gapEnd - from ? newest : oldest
}

/** The total stays that of the first page, so that rows keep their places, until the ends meet. */
const take = (list: List, end: End, page: Awaited<ReturnType<typeof listMemories>>): void => {
  const fresh = page.memories.filter(({ id }) => !list.known.has(id))
  for (const memory of fresh) {
    list.known.add(memory.id)
    end.rows.push(memory)
  }
  end.cursor = page.nextCursor
  const isWhole = page.nextCursor === undefined || fresh.length < page.memories.length
  list.total = isWhole ? list.newest.rows.length + list.oldest.rows.length : (list.total ?? page.total)
}

const useMemoryPages = (filters: MemoryFilters, key: string): MemoryPages => {
  const list = useMemo(emptyList, [key])
  const [, redraw] = useState({})
  const view = useRef({ first: 0, last: 0 })
  const more = (): void => {
    const { signal } = list.controller
    const end = nextEnd(list, view.current)
    if (end === undefined || list.isAsking || signal.aborted) return
    list.isAsking = true
    const query = { limit: pageSize, cursor: end.cursor, order: end.order }
    listMemories(filters, query, signal)
      .then(
        (page) => {
          list.error = undefined
          take(list, end, page)
          list.isAsking = false
          more()
        },
        (cause: unknown) => {
          list.error = asApiError(cause)
          list.isAsking = false
        }
      )
      .finally(() => {
        if (!signal.aborted) redraw({})
      })
  }
  useEffect(() => {
    more()
    return () => list.controller.abort()
  }, [key])
  return {
    total: list.total,
    error: list.error,
    rowOf: (index) => list.newest.rows[index] ?? list.oldest.rows[(list.total ?? 0) - 1 - index],
    rowsBefore: (index) => {
      const left = Math.min(
        index - list.newest.rows.length,
        (list.total ?? Infinity) - 1 - index - list.oldest.rows.length
      )
      return Math.max(0, Math.floor(left / pageSize)) * pageSize
    },
    view: (first, last) => {
      view.current = { first, last }
      more()
    }
  }
}

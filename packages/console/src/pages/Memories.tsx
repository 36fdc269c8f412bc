/** Memories of an account's agents: filters, a list of any length, one memory beside it. */
import { useState } from "preact/hooks"
import { call } from "../service/api.ts"
import { dataFilterOf, type Memory, type MemoryFilters, systemNumber, systemText } from "../service/memories.ts"
import { type MemoryPages, pageSize, useMemoryPages } from "../service/memoryPages.ts"
import { change, parameters } from "../service/route.ts"
import { moment } from "../service/text.ts"
import { countOfMemories, summary } from "../service/words.ts"
import { Filters } from "../ui/Filters.tsx"
import { Confirm } from "../ui/Dialog.tsx"
import { FacetField, Choice, Field } from "../ui/Field.tsx"
import { LongList } from "../ui/LongList.tsx"
import { Empty, Refused } from "../ui/Notice.tsx"
import { NothingStored } from "../ui/Stored.tsx"
import { MemoryPanel } from "./MemoryPanel.tsx"

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
            disabled={!isRestricted(filters) || filters.data !== undefined}
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
        <DeleteAll filters={filters} onClose={() => setDeleting(false)} onDone={() => setRound((value) => value + 1)} />
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
          <span class="what">{summary(memory.data)}</span>
          <span class="muted wide first">{memory.kind}</span>
          <span class="muted wide">{systemText(memory, "subjectId") ?? ""}</span>
          <span class="muted wide">{systemText(memory, "agentId") ?? ""}</span>
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
    call<{ readonly deleted: number }>("POST", "/v1/memories/batch/delete", {
      body: { filters, dryRun, versions: "all" }
    })
  return (
    <Confirm
      title="Delete all memories that match"
      action="Delete"
      preview={() => remove(true)}
      describe={({ deleted }) => (
        <p>
          This deletes <strong>{countOfMemories(deleted)}</strong> for good, older versions too.
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

/** Values of a facet to choose from: a search over them, how many memories each has, how new these are. */
import { useState } from "preact/hooks"
import type { ComponentChildren } from "preact"
import { type ApiError, call } from "../service/api.ts"
import { now, save } from "../service/browser.ts"
import { asApiError, useLoad } from "../service/load.ts"
import { account, linkTo } from "../service/route.ts"
import { facetsOf, removeAll } from "../service/knowledge.ts"
import { ago } from "../service/text.ts"
import { forget } from "../service/undo.ts"
import { count, countOf, countOfMemories } from "../service/words.ts"
import { may, mayChange, session } from "../service/session.ts"
import { UserText } from "./UserText.tsx"
import { Choice, Field } from "./Field.tsx"
import { Notice, Refused, Show } from "./Notice.tsx"
import { Confirm } from "./Dialog.tsx"

const shownMax = 200

type ListedFacet = "subjects" | "threads"

/** Whether no memory of the account has a value of the facet; false until it is known. Asks anew with each `round`. */
export const useHasNone = (facet: ListedFacet, round: number): boolean =>
  useLoad((signal) => facetsOf(facet, { limit: 1 }, signal), [round]).loaded.value?.total === 0

export const ValueList = (given: {
  readonly facet: ListedFacet
  /** One of them, in words: `thread`. */
  readonly noun: string
  readonly contains: string
  readonly order: string
  readonly current: string | undefined
  /** Asks anew when it changes. */
  readonly round: number
  readonly onChange: (change: { readonly contains?: string; readonly order?: string }) => void
  readonly onChoose: (value: string) => void
}) => {
  const order = given.order === "memories" || given.order === "name" ? given.order : "newest"
  const { loaded } = useLoad(
    (signal) => facetsOf(given.facet, { contains: given.contains, order, limit: shownMax }, signal),
    [given.contains, order, given.round]
  )
  return (
    <section class="stack values" aria-label={`All ${given.noun}s`}>
      <div class="pair">
        <Field
          label={`Find a ${given.noun}`}
          value={given.contains}
          onValue={(contains) => given.onChange({ contains })}
        />
        <Choice
          label="Order"
          value={order}
          options={[
            ["newest", "newest first"],
            ["memories", "most memories"],
            ["name", "by name"]
          ]}
          onValue={(value) => given.onChange({ order: value === "newest" ? "" : value })}
        />
      </div>
      <Show of={loaded}>
        {({ isExact, total, values }) =>
          values.length === 0 ? (
            <p class="muted">
              {given.contains === "" ? `No ${given.noun} yet.` : `No ${given.noun} has this text in its name.`}
            </p>
          ) : (
            <>
              <p class="small muted">
                {isExact ? "" : "at least "}
                {countOf(total, given.noun)}
                {total > values.length && `, the first ${values.length} are shown`}
              </p>
              <ul class="choices">
                {values.map(({ memories, newestAt, value }) => (
                  <li key={value}>
                    <button type="button" aria-current={value === given.current} onClick={() => given.onChoose(value)}>
                      <span class="what">
                        <UserText of={value} />
                      </span>
                      <span class="small muted number">{count(memories)}</span>
                      <span class="small muted">{ago(newestAt)}</span>
                    </button>
                  </li>
                ))}
              </ul>
            </>
          )
        }
      </Show>
    </section>
  )
}

export interface ErasedMemories {
  readonly filters: Readonly<Record<string, string>>
  readonly deleted: number
  /** Found by a second look; null: it failed. */
  readonly left: number | null
  /** Milliseconds. */
  readonly at: number
}

/** Proof of an erasure: what a second look found, where it is logged, who else may still speak of it; as a file. */
export const Erasure = ({ erased, name }: { readonly erased: ErasedMemories; readonly name: string }) => {
  const { at, deleted, filters, left } = erased
  const [error, showError] = useState<ApiError | undefined>(undefined)
  const keep = async (): Promise<void> => {
    const query = { subject: name, action: "memories.batchDelete", limit: 1 }
    const events = may("accounts.audit") ? (await call("GET", "/admin/audit", { query })).events : []
    const of = session.value?.account ?? account.value
    const record = { account: of, filters, deleted, left, at: new Date(at).toISOString(), log: events }
    save(`erasure-${name}.json`, `${JSON.stringify(record, null, 2)}\n`)
  }
  return (
    <Notice tone={left === 0 ? "good" : left === null ? "warn" : "bad"}>
      <p>
        {countOfMemories(deleted)} about <UserText of={name} /> {deleted === 1 ? "is" : "are"} erased.{" "}
        {left === 0
          ? "A second look finds none."
          : left === null
            ? "A second look failed: whether new ones came is not known."
            : `A second look finds ${countOfMemories(left)}: new ones came.`}{" "}
        What others said stays: <a href={linkTo("search", { query: name })}>search for it</a>. Backups keep theirs until
        they are pruned.
      </p>
      {error !== undefined && <Refused error={error} />}
      <div class="actions">
        <button type="button" onClick={() => keep().catch((cause: unknown) => showError(asApiError(cause)))}>
          Save a record of it
        </button>
        {may("accounts.audit") && (
          <a class="button" href={linkTo("audit", { subject: name })}>
            Its line in the log
          </a>
        )}
      </div>
    </Notice>
  )
}

/** Typed before anything is gone for good, in any case; ids may have signs that nobody can type. */
const eraseWord = "erase"

/** The head of a page of one thing that can be erased: its name, what can be done with it, its erasure after a dry run. */
export const ErasableHead = (given: {
  readonly title: string
  /** Question of the dialog. */
  readonly question: string
  /** Matching memories are erased. */
  readonly filters: Readonly<Record<string, string>>
  /** Things that go with the memories, and that stay; a sentence goes on. */
  readonly extent: string
  readonly onErased: (erased: ErasedMemories) => void
  readonly onClose: () => void
  readonly children: ComponentChildren
}) => {
  const [isErasing, setErasing] = useState(false)
  return (
    <>
      <div class="head">
        <h2>
          <UserText of={given.title} />
        </h2>
        <div class="actions">
          {given.children}
          {mayChange() && (
            <button type="button" class="danger" onClick={() => setErasing(true)}>
              Erase …
            </button>
          )}
          <button type="button" onClick={given.onClose}>
            Close
          </button>
        </div>
      </div>
      {isErasing && (
        <Confirm
          title={given.question}
          action="Erase"
          word={eraseWord}
          preview={() => removeAll(given.filters, true)}
          describe={({ deleted }) => (
            <p>
              This deletes <strong>{countOfMemories(deleted)}</strong> for good: {given.extent}
            </p>
          )}
          run={async () => {
            const { deleted } = await removeAll(given.filters, false)
            forget(given.filters)
            const left = await removeAll(given.filters, true).then(
              (found) => found.deleted,
              () => null
            )
            given.onErased({ filters: given.filters, deleted, left, at: now() })
          }}
          onClose={() => setErasing(false)}
        />
      )}
    </>
  )
}

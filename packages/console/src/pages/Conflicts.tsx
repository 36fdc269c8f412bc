/**
 * Facts of a person that contradict each other: each with where it comes from, and what can be done. What is done here can
 * be taken back (`service/undo.ts`).
 */
import type { SubjectProfile } from "@muniment/domain/Context"
import { useState } from "preact/hooks"
import type { ApiError } from "../service/api.ts"
import { asApiError, useLoad } from "../service/load.ts"
import { getMemory, historyOf, listMemories, type Memory, systemList } from "../service/memories.ts"
import { linkTo } from "../service/route.ts"
import { mayChange } from "../service/session.ts"
import { moment } from "../service/text.ts"
import { discard } from "../service/undo.ts"
import { Notice, Refused, Show } from "../ui/Notice.tsx"
import { UserText } from "../ui/UserText.tsx"
import { Sources } from "./MemoryPanel.tsx"

export type KnownFact = SubjectProfile["topics"][number]["facts"][number]
type Conflict = SubjectProfile["conflicts"][number]

export const Conflicts = (given: {
  readonly conflicts: ReadonlyArray<Conflict>
  readonly facts: ReadonlyArray<KnownFact>
  readonly subjectId: string
}) => {
  const byId = new Map(given.facts.map((fact) => [fact.id, fact]))
  return (
    <section class="stack tight" aria-label="Conflicts">
      <h3>Conflicts</h3>
      <Notice tone="warn">
        These cannot all hold now. Correct what is wrong, or say in its data that it is past (“used to live in …”); what
        is deleted is in the bin for an hour.
      </Notice>
      {given.conflicts.map((conflict) => (
        <OneConflict
          key={conflict.facts.join()}
          conflict={conflict}
          facts={conflict.facts.flatMap((id) => byId.get(id) ?? [])}
          subjectId={given.subjectId}
        />
      ))}
    </section>
  )
}

const OneConflict = (given: {
  readonly conflict: Conflict
  readonly facts: ReadonlyArray<KnownFact>
  readonly subjectId: string
}) => {
  const { conflict, facts } = given
  const [error, showError] = useState<ApiError | undefined>(undefined)
  const [isBusy, setBusy] = useState(false)
  const keep = ({ id }: KnownFact): void => {
    const { signal } = new AbortController()
    setBusy(true)
    Promise.all(facts.filter((fact) => fact.id !== id).map((fact) => repeatsOf(fact.id, given.subjectId, signal)))
      .then((found) => discard(found.flat()))
      .catch((cause: unknown) => showError(asApiError(cause)))
      .finally(() => setBusy(false))
  }
  return (
    <article class="conflict stack tight">
      <h4 class="topic">
        <UserText of={conflict.attribute} />
        {conflict.about !== undefined && (
          <>
            {" "}
            of <UserText of={conflict.about} />
          </>
        )}
      </h4>
      {error !== undefined && <Refused error={error} />}
      <ul class="stack tight">
        {facts.map((fact) => (
          <li key={fact.id} class="made">
            <UserText of={fact.text} />
            <span class="meta">
              <span>since {fact.since}</span>
              <span>
                known to <UserText of={fact.agentId} />
              </span>
            </span>
            <Origin fact={fact} />
            <div class="actions">
              <a class="button" href={linkTo("memories", { subjectId: given.subjectId, id: fact.id })}>
                {mayChange() ? "Look or correct" : "Look"}
              </a>
              {mayChange() && (
                <button
                  type="button"
                  disabled={isBusy}
                  aria-label={`Keep this, delete ${facts.length === 2 ? "the other" : "the others"}: ${fact.text}`}
                  onClick={() => keep(fact)}
                >
                  Keep this, delete {facts.length === 2 ? "the other" : "the others"}
                </button>
              )}
            </div>
          </li>
        ))}
      </ul>
    </article>
  )
}

/** All memories of a subject that say the same as one: a profile shows each text once. */
const repeatsOf = async (id: string, subjectId: string, signal: AbortSignal): Promise<ReadonlyArray<Memory>> => {
  const { data, kind } = await getMemory(id, signal)
  const plain = Object.entries(data).filter(([, value]) => value === null || typeof value !== "object")
  const filters = { subjectId, kind, data: JSON.stringify(Object.fromEntries(plain)) }
  const { memories } = await listMemories(filters, { limit: repeatsMax }, signal)
  return memories.filter((other) => JSON.stringify(other.data) === JSON.stringify(data))
}
const repeatsMax = 100

/** The messages that a fact was taken from, in their words, once somebody asks; or by whom it was stored. */
const Origin = ({ fact: { id, text } }: { readonly fact: KnownFact }) => {
  const [isOpen, setOpen] = useState(false)
  return (
    <details class="small" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary aria-label={`Where it comes from: ${text}`}>Where it comes from</summary>
      {isOpen && <OriginOf id={id} />}
    </details>
  )
}

const OriginOf = ({ id }: { readonly id: string }) => {
  const { loaded } = useLoad((signal) => historyOf(id, signal), [id])
  return (
    <Show of={loaded}>
      {(versions) => {
        const entry = versions.find(({ memory }) => memory.id === id)
        if (entry === undefined) return null
        return systemList(entry.memory, "sourceMessageIds").length > 0 ? (
          <Sources entry={entry} />
        ) : (
          <p>
            Stored as it is{entry.by !== undefined && ` by ${entry.by}`}, {moment(entry.at)}.
          </p>
        )
      }}
    </Show>
  )
}

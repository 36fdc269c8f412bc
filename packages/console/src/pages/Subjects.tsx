/** People and things that memories are about: everything known of one, by time; export; erase after a dry run. */
import { useEffect, useMemo, useState } from "preact/hooks"
import { change, parameters, linkTo } from "../service/route.ts"
import { otherAccounts } from "../service/session.ts"
import { count } from "../service/words.ts"
import { Empty, Refused, Show } from "../ui/Notice.tsx"
import { type ErasedMemories, Erasure, useHasNone, ValueList, ErasableHead } from "../ui/ValueList.tsx"
import type { ApiError } from "../service/api.ts"
import { save } from "../service/browser.ts"
import { allOf, type Facets, facetsOf } from "../service/knowledge.ts"
import { asApiError, useLoad } from "../service/load.ts"
import { UserText } from "../ui/UserText.tsx"
import { Timeline } from "./Timeline.tsx"

export const Subjects = () => {
  const given = parameters.value
  const subjectId = given.get("subjectId") ?? undefined
  const [round, setRound] = useState(0)
  const [erased, tell] = useState<{ readonly name: string; readonly of: ErasedMemories } | undefined>(undefined)
  const isEmpty = useHasNone("subjects", round) && subjectId === undefined
  return (
    <>
      <div class="head">
        <h2>Subjects</h2>
      </div>
      {erased !== undefined && <Erasure erased={erased.of} name={erased.name} />}
      {isEmpty ? (
        <section class="card">
          <Empty title="No subjects yet">
            <p>
              No memory of this account names a subject yet: give a <code>subjectId</code>, such as the id of a user,
              with the memories that you store. {otherAccounts()}
            </p>
          </Empty>
        </section>
      ) : (
        <div class={`pages ${subjectId === undefined ? "" : "chosen"}`}>
          <ValueList
            facet="subjects"
            noun="subject"
            contains={given.get("contains") ?? ""}
            order={given.get("order") ?? ""}
            current={subjectId}
            round={round}
            onChange={change}
            onChoose={(value) => change({ subjectId: value })}
          />
          {subjectId === undefined ? (
            <section class="card">
              <Empty title="Choose a subject">
                <p>Its page shows everything that is known about it, and exports or erases it.</p>
              </Empty>
            </section>
          ) : (
            <Subject
              key={subjectId}
              subjectId={subjectId}
              onClose={() => change({ subjectId: "" })}
              onErased={(of) => {
                tell({ name: subjectId, of })
                change({ subjectId: "" })
                setRound((value) => value + 1)
              }}
            />
          )}
        </div>
      )}
    </>
  )
}

/** Everything known about one subject: counts, the memories by day, export as JSON lines, erasure. */
const Subject = (given: {
  readonly subjectId: string
  readonly onClose: () => void
  readonly onErased: (erased: ErasedMemories) => void
}) => {
  const { subjectId } = given
  return (
    <section class="card stack" aria-label="Subject">
      <ErasableHead
        title={subjectId}
        question={`Erase what is known about ${subjectId}`}
        filters={{ subjectId }}
        extent="all versions, messages, words and vectors, and what is kept as context of its conversations. Backups keep theirs until they are pruned."
        onErased={given.onErased}
        onClose={given.onClose}
      >
        <Export subjectId={subjectId} />
      </ErasableHead>
      <Counts subjectId={subjectId} />
      <Timeline subjectId={subjectId} />
    </section>
  )
}

const facets = ["kinds", "agents", "threads", "tags"] as const

const titles = { kinds: "Kinds", agents: "Agents", threads: "Threads", tags: "Tags" }
const filterNames = { kinds: "kind", agents: "agentId", threads: "threadId", tags: "tags" }

const shownOfFacet = 6

const Counts = ({ subjectId }: { readonly subjectId: string }) => {
  const { loaded } = useLoad(
    (signal) => Promise.all(facets.map((facet) => facetsOf(facet, { subjectId, limit: shownOfFacet }, signal))),
    [subjectId]
  )
  return (
    <Show of={loaded}>
      {(found) => (
        <dl class="facts">
          {facets.map((facet, at) => (
            <CountsOf key={facet} facet={facet} found={found[at]} subjectId={subjectId} />
          ))}
        </dl>
      )}
    </Show>
  )
}

const CountsOf = (given: {
  readonly facet: (typeof facets)[number]
  readonly found: Facets | undefined
  readonly subjectId: string
}) => {
  const { facet, found, subjectId } = given
  if (found === undefined || found.values.length === 0) return null
  return (
    <>
      <dt>{titles[facet]}</dt>
      <dd class="meta">
        {found.values.map(({ memories, value }) => (
          <a key={value} class="badge" href={linkTo("memories", { subjectId, [filterNames[facet]]: value })}>
            <UserText of={value} /> {count(memories)}
          </a>
        ))}
        {found.total > found.values.length && <span>and {count(found.total - found.values.length)} more</span>}
      </dd>
    </>
  )
}

const Export = ({ subjectId }: { readonly subjectId: string }) => {
  const [progress, setProgress] = useState<string | undefined>(undefined)
  const [error, showError] = useState<ApiError | undefined>(undefined)
  // Pages that are asked for once another account is looked at would be that one's.
  const controller = useMemo(() => new AbortController(), [])
  useEffect(() => () => controller.abort(), [])
  const run = (): void => {
    setProgress("Exporting …")
    showError(undefined)
    allOf({ subjectId, order: "asc", includeSuperseded: true }, Infinity, controller.signal, (read, total) =>
      setProgress(`${count(read)} of ${count(total)}`)
    )
      .then(
        ({ memories }) => save(`${subjectId}.jsonl`, memories.map((memory) => `${JSON.stringify(memory)}\n`).join("")),
        (cause: unknown) => showError(asApiError(cause))
      )
      .finally(() => setProgress(undefined))
  }
  return (
    <>
      {error !== undefined && <Refused error={error} />}
      <button type="button" disabled={progress !== undefined} onClick={run}>
        {progress ?? "Export"}
      </button>
    </>
  )
}

/**
 * What is known of a subject by the time at which it was stored, with filters that stay in view and in the address. Kind
 * and order are asked of the service; days and text are looked for in what is read, page after page, as far as it takes.
 */
import { useEffect, useRef, useState } from "preact/hooks"
import type { ApiError } from "../service/api.ts"
import { facetsOf, pageOf } from "../service/knowledge.ts"
import { asApiError, useLoad } from "../service/load.ts"
import { type Memory, systemNumber, systemText } from "../service/memories.ts"
import { change, linkTo, parameters } from "../service/route.ts"
import { moment } from "../service/text.ts"
import { memoryChanges } from "../service/undo.ts"
import { count, countOfMemories, summary } from "../service/words.ts"
import { Choice, Field, PeriodFields } from "../ui/Field.tsx"
import { Refused, Waiting } from "../ui/Notice.tsx"
import { UserText } from "../ui/UserText.tsx"

type Query = Parameters<typeof pageOf>[0]

interface Wanted {
  /** Milliseconds, `until` excluded. */
  readonly from: number
  readonly until: number
  /** In lower case. */
  readonly text: string
  readonly isDescending: boolean
}

const dayMillis = 86_400_000

/** Midnight where the reader is; a day that is none restricts nothing. */
const midnight = (day: string | null): number => Date.parse(`${day ?? ""}T00:00`)

export const Timeline = ({ subjectId }: { readonly subjectId: string }) => {
  const given = parameters.value
  const kind = given.get("kind") ?? ""
  const sort = given.get("sort") === "asc" ? "asc" : "desc"
  const what = given.get("what") ?? ""
  const kinds = useLoad((signal) => facetsOf("kinds", { subjectId, limit: kindsMax }, signal), [subjectId]).loaded.value
  const query = {
    subjectId,
    order: sort,
    kind,
    include: kind !== "" || what === "all" ? "all" : what === "messages" ? what : "extracted",
    includeSuperseded: true
  }
  const [from, to] = [midnight(given.get("from")), midnight(given.get("to"))]
  const wanted: Wanted = {
    from: Number.isNaN(from) ? -Infinity : from,
    until: Number.isNaN(to) ? Infinity : to + dayMillis,
    text: (given.get("text") ?? "").trim().toLowerCase(),
    isDescending: sort === "desc"
  }
  return (
    <>
      <section class="facets pinned" aria-label="Filters of the timeline">
        <Field label="Text" value={given.get("text") ?? ""} onValue={(text) => change({ text })} />
        <Choice
          label="Kind"
          value={kind}
          options={[
            ["", "all"],
            ...[...new Set([...(kinds?.values ?? []).map(({ value }) => value), ...(kind === "" ? [] : [kind])])].map(
              (value) => [value, value] as const
            )
          ]}
          onValue={(value) => change({ kind: value })}
        />
        <PeriodFields />
        <Choice
          label="Order"
          value={sort}
          options={[
            ["desc", "newest first"],
            ["asc", "oldest first"]
          ]}
          onValue={(value) => change({ sort: value === "desc" ? "" : value })}
        />
        <Choice
          label="What"
          value={what}
          options={[
            ["", "no messages"],
            ["all", "with messages"],
            ["messages", "messages alone"]
          ]}
          onValue={(value) => change({ what: value, kind: "" })}
        />
      </section>
      <Found key={`${JSON.stringify([query, wanted])} ${memoryChanges.value}`} query={query} wanted={wanted} />
    </>
  )
}

const kindsMax = 50

const timeOf = (memory: Memory): number => systemNumber(memory, "createdAt") ?? 0

const isWanted = ({ from, text, until }: Wanted, memory: Memory): boolean => {
  const at = timeOf(memory)
  if (at < from || at >= until) return false
  return text === "" || JSON.stringify(memory.data).toLowerCase().includes(text)
}

/** No later page can have any more. */
const isBehind = ({ from, isDescending, until }: Wanted, last: Memory | undefined): boolean =>
  last !== undefined && (isDescending ? timeOf(last) < from : timeOf(last) >= until)

/** Rows that one look shows, and memories that it reads for them. */
const foundMin = 60
const readMax = 3_000

interface Look {
  readonly found: ReadonlyArray<Memory>
  readonly read: number
  readonly total: number
  /** Undefined: there are no more. */
  readonly cursor: string | undefined
}

const look = async (
  query: Query,
  wanted: Wanted,
  before: Look | undefined,
  signal: AbortSignal,
  tell: (look: Look) => void
): Promise<Look> => {
  const found = [...(before?.found ?? [])]
  let read = before?.read ?? 0
  let cursor = before?.cursor
  const [foundAtFirst, readAtFirst] = [found.length, read]
  for (;;) {
    const page = await pageOf({ ...query, cursor }, signal)
    found.push(...page.memories.filter((memory) => isWanted(wanted, memory)))
    read += page.memories.length
    cursor = isBehind(wanted, page.memories.at(-1)) ? undefined : page.nextCursor
    const now = { found: [...found], read, total: page.total, cursor }
    if (cursor === undefined || found.length - foundAtFirst >= foundMin || read - readAtFirst >= readMax) return now
    tell(now)
  }
}

const Found = ({ query, wanted }: { readonly query: Query; readonly wanted: Wanted }) => {
  const [seen, setSeen] = useState<Look | undefined>(undefined)
  const [isLooking, setLooking] = useState(false)
  const [error, showError] = useState<ApiError | undefined>(undefined)
  const controller = useRef(new AbortController())
  const go = (before: Look | undefined): void => {
    const { signal } = controller.current
    setLooking(true)
    showError(undefined)
    look(query, wanted, before, signal, setSeen)
      .then(
        (now) => !signal.aborted && setSeen(now),
        (cause: unknown) => !signal.aborted && showError(asApiError(cause))
      )
      .finally(() => setLooking(false))
  }
  useEffect(() => {
    go(undefined)
    return () => controller.current.abort()
  }, [])
  const memories = seen?.found ?? []
  const days = Map.groupBy(memories, (memory) => moment(timeOf(memory)).slice(0, dayLength))
  return (
    <>
      {seen !== undefined && (
        <p class="small muted" role="status">
          {countOfMemories(memories.length)} shown; looked through {count(seen.read)} of {count(seen.total)}, superseded
          versions too
        </p>
      )}
      {seen !== undefined && !isLooking && memories.length === 0 && (
        <p class="muted">Nothing matches these filters{seen.cursor !== undefined && " so far"}.</p>
      )}
      {[...days].map(([day, ofDay]) => (
        <section key={day} class="stack day" aria-label={day}>
          <h3>{day}</h3>
          <ol class="timeline">
            {ofDay.map((memory) => (
              <Entry key={memory.id} memory={memory} />
            ))}
          </ol>
        </section>
      ))}
      {error !== undefined && <Refused error={error} />}
      {isLooking && <Waiting />}
      {seen?.cursor !== undefined && !isLooking && (
        <div class="actions">
          <button type="button" onClick={() => go(seen)}>
            Show more
          </button>
        </div>
      )}
    </>
  )
}

const dayLength = 10

/** With the time of day, where one is told. */
const momentText = (when: string): string =>
  /T00:00(?::00(?:\.0+)?)?Z$/.test(when) || when.length === dayLength
    ? when.slice(0, dayLength)
    : moment(Date.parse(when))

const Entry = ({ memory }: { readonly memory: Memory }) => {
  const { context, data, id, kind } = memory
  const subjectId = systemText(memory, "subjectId")
  const isMessage = kind === "conversation_message"
  const stored = moment(timeOf(memory))
  const when = context.when === undefined ? undefined : momentText(context.when)
  return (
    <li class={context.isLatest ? "latest" : ""}>
      <a class={context.isLatest ? "what" : "what superseded"} href={linkTo("memories", { subjectId, id })}>
        <UserText of={summary(data)} />
      </a>
      <div class="meta">
        <span class="nowrap">{stored.slice(dayLength + 1)}</span>
        <span class="badge">{kind}</span>
        {!context.isLatest && <span class="badge warn">superseded</span>}
        {when !== undefined && when !== stored && (
          <span class="nowrap">
            {isMessage ? "said" : "happens"} {when}
          </span>
        )}
        <UserText of={systemText(memory, "agentId")} />
      </div>
    </li>
  )
}

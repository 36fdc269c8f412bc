/**
 * Changes of many chosen memories by the batch routes, in parts that a request may have. What is stored when a part is
 * refused stays: the error says how far it went. All parts are of one account, `of`: the one chosen at the start.
 */
import { type Answer, call } from "./api.ts"
import { asApiError } from "./load.ts"
import { type Memory, systemNumber, systemText } from "./memories.ts"
import { account } from "./route.ts"
import { countOfMemories } from "./words.ts"

const partMax = 100
/** Below the service's bound on a body, with room for what JSON adds. */
const partBytesMax = 700_000

export interface Change {
  readonly tags?: ReadonlyArray<string>
  /** Milliseconds; null: for good. */
  readonly expiresAt?: number | null
}

/** What a change would do to one memory; undefined: nothing, it is so already. */
export type ChangeOf = (memory: Memory) => Change | undefined

export const changeTagsBy =
  (added: ReadonlyArray<string>, removed: ReadonlyArray<string>): ChangeOf =>
  ({ context: { tags } }) => {
    const next = [...new Set([...tags, ...added])].filter((tag) => !removed.includes(tag) || added.includes(tag))
    return next.length === tags.length && next.every((tag) => tags.includes(tag)) ? undefined : { tags: next }
  }

export const changeExpiryTo =
  (expiresAt: number | null): ChangeOf =>
  (memory) =>
    (systemNumber(memory, "expiresAt") ?? null) === expiresAt ? undefined : { expiresAt }

/** How a memory is now, in the fields that the change sets. */
export const before = (memory: Memory, change: Change): Change => ({
  ...(change.tags !== undefined && { tags: memory.context.tags }),
  ...(change.expiresAt !== undefined && { expiresAt: systemNumber(memory, "expiresAt") ?? null })
})

export interface Changed {
  readonly memory: Memory
  readonly change: Change
}

export const changesOf = (memories: ReadonlyArray<Memory>, changeOf: ChangeOf): ReadonlyArray<Changed> =>
  memories.flatMap((memory) => {
    const change = changeOf(memory)
    return change === undefined ? [] : [{ memory, change }]
  })

/** Memories with the same change go in one call. */
export const changeAll = async (changes: ReadonlyArray<Changed>, of = account.value): Promise<void> => {
  let done = 0
  for (const alike of Map.groupBy(changes, ({ change }) => JSON.stringify(change)).values()) {
    for (const part of parts(alike, () => 0)) {
      const body = { ids: part.map(({ memory }) => memory.id), update: part[0]?.change }
      await call("POST", "/v1/memories/batch/update", { body, account: of }).catch(failedAfter(done, "changed"))
      done += part.length
    }
  }
}

/** Versions that go, or would go, with all versions of the chosen memories. */
export const removeChosen = async (
  ids: ReadonlyArray<string>,
  dryRun: boolean,
  of = account.value
): Promise<number> => {
  let removed = 0
  for (const part of parts(ids, () => 0)) {
    const { deleted } = await call("POST", "/v1/memories/batch/delete", {
      body: { ids: part, dryRun, versions: "all" },
      account: of
    }).catch(failedAfter(removed, "deleted"))
    removed += deleted
  }
  return removed
}

/** Deletes what was stored by mistake: what it superseded is the latest again. */
export const removeStored = async (ids: ReadonlyArray<string>, of = account.value): Promise<void> => {
  for (const part of parts(ids, () => 0)) {
    await call("POST", "/v1/memories/batch/delete", { body: { ids: part, versions: "one" }, account: of })
  }
}

export type Created = Answer<"POST /v1/memories">

/** A memory to be stored: what a request says of it, and what of its place. */
export interface NewMemory {
  readonly agentId: string
  readonly subjectId?: string | undefined
  readonly threadId?: string | undefined
  readonly memory: {
    readonly kind: string
    readonly data: unknown
    readonly tags?: ReadonlyArray<string>
    readonly metadata?: unknown
    readonly expiresAt?: number | string
  }
}

/** As it can be stored anew: what the service made of it, its sources and its feedback, is not given back. */
export const asNew = (memory: Memory): NewMemory => {
  const expiresAt = systemNumber(memory, "expiresAt")
  const { metadata, tags } = memory.context
  return {
    agentId: systemText(memory, "agentId") ?? "",
    subjectId: systemText(memory, "subjectId"),
    threadId: systemText(memory, "threadId"),
    memory: {
      kind: memory.kind,
      data: memory.data,
      ...(tags.length > 0 && { tags }),
      ...(metadata !== undefined && { metadata }),
      ...(expiresAt !== undefined && { expiresAt })
    }
  }
}

/** Requests that store the memories: of one agent, subject and thread each, in their order. */
export const requestsOf = (memories: ReadonlyArray<NewMemory>): ReadonlyArray<ReadonlyArray<NewMemory>> =>
  [
    ...Map.groupBy(memories, ({ agentId, subjectId, threadId }) =>
      JSON.stringify([agentId, subjectId, threadId])
    ).values()
  ].flatMap((alike) => parts(alike, ({ memory }) => JSON.stringify(memory).length))

export const storeRequest = (
  part: ReadonlyArray<NewMemory>,
  rest: { readonly onDuplicate?: "return" | "store" } = {},
  of = account.value
): Promise<Created> => {
  const { agentId, subjectId, threadId } = part[0] ?? { agentId: "" }
  const place = {
    agentId,
    ...(subjectId !== undefined && { subjectId }),
    ...(threadId !== undefined && { threadId })
  }
  const body = { ...place, memories: part.map(({ memory }) => memory), ...rest }
  return call("POST", "/v1/memories", { body, account: of })
}

/** Ids that they have now. */
export const storeAll = async (
  memories: ReadonlyArray<NewMemory>,
  of = account.value
): Promise<ReadonlyArray<string>> => {
  const ids: Array<string> = []
  for (const part of requestsOf(memories)) {
    const { created, updated } = await storeRequest(part, {}, of).catch(failedAfter(ids.length, "stored"))
    ids.push(...[...created, ...updated].map(({ id }) => id))
  }
  return ids
}

/** Whether a memory can belong to another subject: a message belongs to its conversation, an older version to its latest. */
export const canMove = ({ context, kind }: Memory): boolean => kind !== "conversation_message" && context.isLatest

export const movesTo = (memories: ReadonlyArray<Memory>, subjectId: string): ReadonlyArray<Memory> =>
  memories.filter((memory) => canMove(memory) && systemText(memory, "subjectId") !== subjectId)

/**
 * Stored for the other subject before they are deleted for this one, so that nothing is lost between: the service has no
 * memory change its subject. Ids of the new ones.
 */
export const moveTo = async (
  memories: ReadonlyArray<Memory>,
  subjectId: string | undefined,
  of = account.value
): Promise<ReadonlyArray<string>> => {
  const made = memories.map((memory) => ({ ...asNew(memory), subjectId }))
  const ids = await storeAll(made, of)
  const old = memories.map(({ id }) => id)
  await removeChosen(old, false, of)
  return ids
}

/** Says how far it went before an error, and throws that. */
export const failedAfter = (done: number, what: string) => (cause: unknown) => {
  const error = asApiError(cause)
  if (done > 0) error.message = `${error.message} Before that, ${countOfMemories(done)} were ${what}, and stay so.`
  throw error
}

/** As many as a request may have. */
export const parts = <A>(items: ReadonlyArray<A>, bytesOf: (item: A) => number): ReadonlyArray<ReadonlyArray<A>> => {
  const all: Array<Array<A>> = []
  let bytes = 0
  for (const item of items) {
    const last = all.at(-1)
    const more = bytesOf(item)
    if (last === undefined || last.length === partMax || bytes + more > partBytesMax) {
      all.push([item])
      bytes = more
    } else {
      last.push(item)
      bytes += more
    }
  }
  return all
}

/** Tags as people type them. */
export const tagsIn = (text: string): ReadonlyArray<string> => [
  ...new Set(
    text
      .split(",")
      .map((tag) => tag.trim())
      .filter((tag) => tag !== "")
  )
]

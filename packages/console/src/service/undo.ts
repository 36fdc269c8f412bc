/**
 * The last change of memories from this window, with what takes it back; and the bin. The service keeps nothing of a
 * deleted memory (contract: Memories): the bin is this window's, in its working memory alone, for an hour at most, and
 * gives a memory back by storing it anew. What was erased is in no bin. An offer acts in the account, `of`, in which the
 * change began, whatever account is chosen meanwhile.
 */
import { effect, signal } from "@preact/signals"
import { type ApiError, call } from "./api.ts"
import { after, now } from "./browser.ts"
import {
  asNew,
  before,
  type Changed,
  changeAll,
  failedAfter,
  type NewMemory,
  parts,
  removeChosen,
  removeStored,
  requestsOf,
  storeRequest
} from "./bulk.ts"
import { asApiError } from "./load.ts"
import { historyOf, type Memory, systemNumber, systemText } from "./memories.ts"
import { account, change, parameters } from "./route.ts"
import { session } from "./session.ts"
import { countOfMemories } from "./words.ts"

export interface Offer {
  /** What was done. */
  readonly text: string
  readonly takeBack: () => Promise<unknown>
}

/** The newest change alone: those before it may no longer be there to be taken back. */
export const offered = signal<Offer | undefined>(undefined)

/** Counts changes, so that pages read anew. */
export const memoryChanges = signal(0)

/** Nothing that ran before shows any more, nor what was done in another account, `of`, than the one that is looked at. */
export const changed = (offer?: Offer, of = account.value): void => {
  if (of === account.value) offered.value = offer
  memoryChanges.value += 1
}

export interface Binned {
  /** The latest of its versions. */
  readonly memory: Memory
  /** Oldest first, without the latest. */
  readonly older: ReadonlyArray<Memory>
  readonly account: string
  readonly deletedAt: number
}

/** Of the bin. */
const keptMillis = 3_600_000

const all = signal<ReadonlyArray<Binned>>([])

/** Ids of binned memories whose deletion got no answer. */
const mayBeThere = new Set<string>()

/** Ids of versions whose restoration got no answer, and of those that are stored anew. */
const mayBeBack = new Set<string>()
const back = new Set<string>()

const dropOld = (): void => {
  const from = now() - keptMillis
  const left = all.value.filter(({ deletedAt }) => deletedAt > from)
  if (left.length < all.value.length) all.value = left
}

/** What an account holds is changed in that account alone. */
effect(() => {
  void account.value
  offered.value = undefined
})

/** Whoever signs in next finds nothing of who was here before. */
effect(() => {
  if (session.value !== null) return
  all.value = []
  for (const ids of [mayBeThere, mayBeBack, back]) ids.clear()
  offered.value = undefined
})

/** Of the account that is looked at, last deleted first. */
export const binned = (): ReadonlyArray<Binned> => {
  dropOld()
  return all.value.filter((one) => one.account === account.value)
}

const drop = (gone: ReadonlyArray<Binned>): void => {
  const ids = new Set(gone.map(({ memory }) => memory.id))
  all.value = all.value.filter(({ memory }) => !ids.has(memory.id))
}

export const emptyBin = (): void => drop(binned())

/** Who was erased last with all that is known of them: what this browser keeps by their name goes too. */
export const erasedSubject = signal<{ readonly subjectId: string } | undefined>(undefined)

/** Erased memories: nothing brings them back. */
export const forget = (filters: Readonly<Record<string, unknown>>): void => {
  const isErased = ({ memory }: Binned): boolean =>
    Object.entries(filters).every(([name, value]) =>
      name === "tags" && Array.isArray(value)
        ? value.some((tag) => memory.context.tags.includes(String(tag)))
        : name === "kind"
          ? memory.kind === value
          : systemText(memory, name) === value
    )
  drop(all.value.filter((one) => one.account === account.value && isErased(one)))
  const { subjectId, ...others } = filters
  if (typeof subjectId === "string" && Object.keys(others).length === 0) erasedSubject.value = { subjectId }
  changed()
}

/** All versions of a memory that are there, oldest first. */
const versionsOf = async (memory: Memory, of: string): Promise<ReadonlyArray<Memory>> =>
  systemText(memory, "supersedes") === undefined && systemText(memory, "supersededBy") === undefined
    ? [memory]
    : (await historyOf(memory.id, new AbortController().signal, of)).map((entry) => entry.memory).toReversed()

const versionsIn = ({ memory, older }: Binned): ReadonlyArray<Memory> => [...older, memory]

const put = (entries: ReadonlyArray<Binned>): void => {
  all.value = [...entries, ...all.value]
  after(keptMillis, dropOld)
}

/** Neither done nor refused, as far as is known. */
const isOpen = ({ status }: ApiError): boolean => status < 400 || status >= 500

/**
 * Deletes memories with all their versions, part by part, each into the bin before it leaves the service: an answer that is
 * lost may leave the only copy here. Called again after a refusal, it goes on with what is left.
 */
export const discard = async (memories: ReadonlyArray<Memory>): Promise<void> => {
  const of = account.value
  const inBin = new Map(binned().flatMap((entry) => versionsIn(entry).map(({ id }) => [id, entry] as const)))
  const gone = new Set<Binned>()
  const known = new Set<string>()
  for (const chosen of memories) {
    const before = inBin.get(chosen.id)
    if (before !== undefined && mayBeThere.has(before.memory.id)) gone.add(before)
    if (before !== undefined || known.has(chosen.id)) continue
    const versions = await versionsOf(chosen, of)
    for (const { id } of versions) known.add(id)
    const memory = versions.at(-1) ?? chosen
    gone.add({ memory, older: versions.slice(0, -1), account: of, deletedAt: now() })
  }
  const entries = [...gone]
  let done = 0
  for (const part of parts(entries, () => 0)) {
    await discardPart(part, entries.length === 1, of).catch(failedAfter(done, "put in the bin"))
    done += part.length
  }
  const shown = parameters.value.get("id")
  const isShown = entries.some((entry) => versionsIn(entry).some(({ id }) => id === shown))
  if (isShown && of === account.value) change({ id: "" })
  changed({ text: `${countOfMemories(entries.length)} deleted.`, takeBack: () => bringBack(entries) }, of)
}

const discardPart = async (part: ReadonlyArray<Binned>, isOne: boolean, of: string): Promise<void> => {
  const ids = part.map(({ memory }) => memory.id)
  const fresh = part.filter((entry) => !all.value.includes(entry))
  put(fresh)
  try {
    await (isOne ? removeOne(ids.join(), of) : removeChosen(ids, false, of))
    for (const id of ids) mayBeThere.delete(id)
  } catch (cause) {
    const error = asApiError(cause)
    if (isOpen(error)) {
      for (const id of ids) mayBeThere.add(id)
      error.message += " What may be deleted is in the bin."
    } else drop(fresh)
    throw error
  }
}

const removeOne = (id: string, of: string): Promise<unknown> =>
  call("DELETE", `/v1/memories/${encodeURIComponent(id)}`, { query: { versions: "all" }, account: of }).catch(
    (cause: unknown) => {
      // The deletion before it, which got no answer, was done.
      if (!mayBeThere.has(id) || asApiError(cause).status !== 404) throw cause
    }
  )

const isOver = (memory: Memory): boolean => (systemNumber(memory, "expiresAt") ?? Infinity) <= now()

const isLeft = (version: Memory): boolean => !isOver(version) && !back.has(version.id)

/**
 * Stores memories of one account anew, each version after the one before it; those that have ended meanwhile stay away. Ids
 * of all. Called again after a refusal, it stores what is left, and what got no answer unless it is there.
 */
const bringBack = async (entries: ReadonlyArray<Binned>): Promise<ReadonlyArray<string>> => {
  const of = entries[0]?.account ?? account.value
  const doubtful = entries.map(({ memory }) => memory.id).filter((id) => mayBeThere.has(id))
  await removeChosen(doubtful, false, of)
  for (const id of doubtful) mayBeThere.delete(id)
  const chains = entries.map((entry) => versionsIn(entry).filter(isLeft))
  const depth = Math.max(0, ...chains.map(({ length }) => length))
  const ids: Array<string> = []
  try {
    for (let at = depth; at > 0; at--) {
      const layer = chains.flatMap((chain) => chain.at(-at) ?? [])
      for (const isRepeated of [false, true]) {
        const versions = layer.filter(({ id }) => mayBeBack.has(id) === isRepeated)
        const idOf = new Map(versions.map((version) => [asNew(version), version.id]))
        for (const part of requestsOf([...idOf.keys()])) {
          const old = part.map((one) => idOf.get(one) ?? "")
          ids.push(...(await storeBack(part, old, isRepeated, of).catch(failedAfter(ids.length, "stored"))))
        }
      }
    }
  } finally {
    drop(entries.filter((entry) => !versionsIn(entry).some(isLeft)))
  }
  return ids
}

const storeBack = async (
  part: ReadonlyArray<NewMemory>,
  old: ReadonlyArray<string>,
  isRepeated: boolean,
  of: string
): Promise<ReadonlyArray<string>> => {
  try {
    const stored = await storeRequest(part, isRepeated ? { onDuplicate: "return" } : {}, of)
    for (const id of old) back.add(id)
    return [...stored.created, ...stored.updated, ...(stored.existing ?? [])].map(({ id }) => id)
  } catch (cause) {
    const error = asApiError(cause)
    if (isOpen(error)) for (const id of old) mayBeBack.add(id)
    throw error
  }
}

export const restoreBinned = async (entries: ReadonlyArray<Binned>): Promise<void> => {
  const of = account.value
  const ids = await bringBack(entries)
  const takeBack = async (): Promise<void> => {
    await removeStored(ids, of)
    for (const { id } of entries.flatMap(versionsIn)) {
      back.delete(id)
      mayBeBack.delete(id)
    }
    put(entries)
  }
  changed({ text: `${countOfMemories(entries.length)} restored, stored anew.`, takeBack }, of)
}

/** Offers to set back fields that were changed in place. */
export const offerOld = (changes: ReadonlyArray<Changed>, of: string): void => {
  const old = changes.map(({ change: set, memory }) => ({ memory, change: before(memory, set) }))
  changed({ text: `${countOfMemories(changes.length)} changed.`, takeBack: () => changeAll(old, of) }, of)
}

/** Offers to take back a move: the old ones are stored anew, and the moved ones go. */
export const offerReturn = (old: ReadonlyArray<Memory>, ids: ReadonlyArray<string>, of: string): void => {
  const entries = old.map((memory) => ({ memory, older: [], account: of, deletedAt: now() }))
  const takeBack = async (): Promise<void> => {
    await bringBack(entries)
    await removeStored(ids, of)
  }
  changed({ text: `${countOfMemories(old.length)} moved.`, takeBack }, of)
}

/** Offers to delete what was stored. */
export const offerRemoval = (text: string, ids: ReadonlyArray<string>, of: string): void =>
  changed({ text, takeBack: () => removeStored(ids, of) }, of)

/**
 * Offers to take back the change of one memory, unless it has been changed again: a new version goes, so that the one
 * before is the latest again; of a change in place the old fields come back.
 */
export const offerBefore = (text: string, old: Memory, now: Memory, fields: object, of: string): void => {
  const path = `/v1/memories/${encodeURIComponent(now.id)}`
  const options = { headers: { "if-match": `"${now.version}"` }, account: of }
  const takeBack = async (): Promise<void> => {
    if (now.id === old.id) await call("PATCH", path, { ...options, body: fields })
    else await call("DELETE", path, { ...options, query: { versions: "one" } })
    if (now.id !== old.id && parameters.value.get("id") === now.id) change({ id: old.id })
  }
  changed({ text, takeBack }, of)
}

/**
 * The last change of memories from this window, with what takes it back; and the bin. The service keeps nothing of a
 * deleted memory (contract: Memories): the bin is this window's, in its working memory alone, for an hour at most, and
 * gives a memory back by storing it anew. What was erased is in no bin. An offer acts in the account, `of`, in which the
 * change began, whatever account is chosen meanwhile.
 */
import { effect, signal } from "@preact/signals"
import { call } from "./api.ts"
import { after, now } from "./browser.ts"
import { asNew, before, type Changed, changeAll, removeChosen, removeStored, storeAll } from "./bulk.ts"
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
const versionsOf = async (memory: Memory): Promise<ReadonlyArray<Memory>> =>
  systemText(memory, "supersedes") === undefined && systemText(memory, "supersededBy") === undefined
    ? [memory]
    : (await historyOf(memory.id, new AbortController().signal)).map((entry) => entry.memory).toReversed()

/** Deletes memories with all their versions, into the bin. */
export const discard = async (memories: ReadonlyArray<Memory>): Promise<void> => {
  const gone: Array<Binned> = []
  const known = new Set<string>()
  for (const chosen of memories) {
    if (known.has(chosen.id)) continue
    const versions = await versionsOf(chosen)
    for (const { id } of versions) known.add(id)
    const memory = versions.at(-1) ?? chosen
    gone.push({ memory, older: versions.slice(0, -1), account: account.value, deletedAt: now() })
  }
  const [one, ...others] = gone.map(({ memory }) => memory.id)
  if (one !== undefined && others.length === 0) {
    await call("DELETE", `/v1/memories/${encodeURIComponent(one)}`, { query: { versions: "all" } })
  } else if (one !== undefined) await removeChosen([one, ...others], false)
  all.value = [...gone, ...all.value]
  after(keptMillis, dropOld)
  changed({ text: `${countOfMemories(gone.length)} deleted.`, takeBack: () => bringBack(gone) })
}

const isOver = (memory: Memory): boolean => (systemNumber(memory, "expiresAt") ?? Infinity) <= now()

/** Stores them anew, each version after the one before it; those that have ended meanwhile stay away. Ids of all. */
const bringBack = async (entries: ReadonlyArray<Binned>): Promise<ReadonlyArray<string>> => {
  const chains = entries.map(({ memory, older }) => [...older, memory].filter((version) => !isOver(version)))
  const depth = Math.max(0, ...chains.map(({ length }) => length))
  const ids: Array<string> = []
  for (let at = depth; at > 0; at--) {
    ids.push(...(await storeAll(chains.flatMap((chain) => chain.at(-at) ?? []).map(asNew))))
  }
  drop(entries)
  return ids
}

export const restoreBinned = async (entries: ReadonlyArray<Binned>): Promise<void> => {
  const ids = await bringBack(entries)
  changed({
    text: `${countOfMemories(entries.length)} restored, stored anew.`,
    takeBack: async () => {
      await removeStored(ids)
      all.value = [...entries, ...all.value]
    }
  })
}

/** Offers to set back fields that were changed in place. */
export const offerOld = (changes: ReadonlyArray<Changed>, of: string): void => {
  const old = changes.map(({ change: set, memory }) => ({ memory, change: before(memory, set) }))
  changed({ text: `${countOfMemories(changes.length)} changed.`, takeBack: () => changeAll(old, of) }, of)
}

/** Offers to take back a move: the old ones are stored anew, and the moved ones go. */
export const offerReturn = (old: ReadonlyArray<Memory>, ids: ReadonlyArray<string>, of: string): void => {
  const takeBack = async (): Promise<void> => {
    await storeAll(old.map(asNew), of)
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

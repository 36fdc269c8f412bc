/**
 * Directory of namespaces by (account, agent). A tag is the first 48 bits of `sha256(account NUL agentId)`; on a
 * collision `NUL n` is appended, n = 1, 2, ... Aliases are tags of other installations whose memories were imported with
 * their ids.
 *
 * A namespace with nothing left is retired: its row stays, on disk alone, and keeps the tag for the same agent.
 *
 * Invariants: a tag names one agent until its account is erased, because memory ids contain it; reads come from memory
 * and see only committed entries; writes take turns.
 */
import { Clock, Context, Effect, Layer, Semaphore } from "effect"
import type { SqlClient } from "effect/sql"
import { Conflict, type PayloadTooLarge } from "@muniment/domain/Errors"
import { namespaceTagOf, type NamespaceTag } from "@muniment/domain/Ids"
import { requireQuota } from "@muniment/domain/Plans"
import { traced } from "@muniment/domain/traced"
import { sha256Hex } from "@muniment/trust/CanonicalJson"
import { ControlDatabase } from "../database/ControlDatabase.ts"
import { limitsOf, Quotas } from "./Accounts.ts"
import type { ControlFailure } from "../database/ControlFailure.ts"

/** One object per namespace for the life of the directory: entries may be compared by identity. */
export interface NamespaceEntry {
  readonly tag: NamespaceTag
  readonly account: string
  readonly agentId: string
}

/** 12 hex digits are 48 bits. */
const tagDigits = 12
/** Collisions of 48 bits are rare; this many in a row mean a broken hash. */
const tagAttemptsMax = 16

/** Runs before a new entry is written; an agent of an account that was erased may come again. Default: nothing. */
export const AgentArrival = Context.Reference<(entry: NamespaceEntry) => Effect.Effect<void, ControlFailure>>(
  "muniment/control/AgentArrival",
  { defaultValue: () => () => Effect.void }
)

export class NamespaceDirectory extends Context.Service<
  NamespaceDirectory,
  {
    readonly find: (accountId: string, agentId: string) => NamespaceEntry | undefined
    /** The tag of an agent; of one without a namespace the one that `ensure` tries first. */
    readonly tagOf: (accountId: string, agentId: string) => NamespaceTag
    /** The account's own namespace that a memory id names; none for another account's id. */
    readonly holding: (accountId: string, memoryId: string) => NamespaceEntry | undefined
    /** The namespace that a tag or an alias names; its `tag` is the namespace's own. */
    readonly byTag: (tag: NamespaceTag) => NamespaceEntry | undefined
    /** Namespaces of an account, or of one of its agents; oldest first. */
    readonly list: (accountId: string, agentId?: string | undefined) => ReadonlyArray<NamespaceEntry>
    readonly all: () => ReadonlyArray<NamespaceEntry>
    /** How many there are, in constant time. */
    readonly count: () => number
    /** The namespace, created if there is none and the account may have another. An unknown account is a defect. */
    readonly ensure: (
      accountId: string,
      agentId: string
    ) => Effect.Effect<NamespaceEntry, PayloadTooLarge | ControlFailure>
    /** Bytes of a namespace's memories when it was saved; undefined: not counted, or changed since. */
    readonly bytesOf: (tag: NamespaceTag) => number | undefined
    readonly saveBytes: (bytes: ReadonlyMap<NamespaceTag, number | undefined>) => Effect.Effect<void, ControlFailure>
    /** Takes a namespace out whose files are gone; `ensure` brings it back under its tag. Unknown tags are ignored. */
    readonly retire: (tag: NamespaceTag) => Effect.Effect<void, ControlFailure>
    /** Removes all namespaces of an account, whose files are gone. */
    readonly forget: (accountId: string) => Effect.Effect<void, ControlFailure>
    /** Lets `tag` name the namespace of `namespaceTag` too; fails when it names another. */
    readonly addAlias: (tag: NamespaceTag, namespaceTag: NamespaceTag) => Effect.Effect<void, Conflict | ControlFailure>
  }
>()("muniment/control/NamespaceDirectory") {
  static readonly layer = Layer.effect(
    NamespaceDirectory,
    Effect.gen(function* () {
      const { read, sql, write } = yield* ControlDatabase
      const quotas = yield* Quotas
      const arrival = yield* AgentArrival
      const known = yield* read(knownIn(sql))

      // The commit and the map must not diverge: one writer at a time, uninterruptible.
      const turns = yield* Semaphore.make(1)
      const inTurn = <A, E>(effect: Effect.Effect<A, E>) => turns.withPermit(Effect.uninterruptible(effect))

      const create = Effect.fnUntraced(function* (accountId: string, agentId: string) {
        const existing = known.find(accountId, agentId)
        if (existing !== undefined) return existing
        const limits = yield* read(limitsOf(sql, quotas, accountId))
        yield* requireQuota("agents", limits, known.list(accountId).length, 1)
        const tag = yield* read(tagFor(sql, accountId, agentId))
        const entry: NamespaceEntry = { tag, account: accountId, agentId }
        yield* arrival(entry)
        const now = yield* Clock.currentTimeMillis
        yield* write(
          sql`INSERT INTO namespace (tag, account, agent_id, created_at) VALUES (${tag}, ${accountId}, ${agentId}, ${now})
            ON CONFLICT (tag) DO UPDATE SET retired_at = NULL, created_at = ${now}`
        )
        known.add(entry)
        const aliases = yield* read(
          sql<AliasRow>`SELECT tag, namespace_tag FROM namespace_alias WHERE namespace_tag = ${tag}`
        )
        for (const alias of aliases) known.addAlias(alias.tag, tag)
        return entry
      })

      const alias = Effect.fnUntraced(function* (tag: NamespaceTag, namespaceTag: NamespaceTag) {
        const target = known.byTag(namespaceTag)
        if (target === undefined) return yield* Effect.die(new Error(`no namespace has the tag ${namespaceTag}`))
        if (known.byTag(tag)?.tag === target.tag) return
        if (yield* read(isTaken(sql, tag))) {
          return yield* new Conflict({ code: "id_conflict", error: "these memory ids belong to another agent here" })
        }
        yield* write(sql`INSERT INTO namespace_alias (tag, namespace_tag) VALUES (${tag}, ${target.tag})`)
        known.addAlias(tag, target.tag)
      })

      return NamespaceDirectory.of({
        find: (accountId, agentId) => known.find(accountId, agentId),
        tagOf: (accountId, agentId) => known.find(accountId, agentId)?.tag ?? candidateTag(accountId, agentId, 0),
        holding: (accountId, memoryId) => {
          const tag = namespaceTagOf(memoryId)
          const entry = tag === undefined ? undefined : known.byTag(tag)
          return entry?.account === accountId ? entry : undefined
        },
        byTag: (tag) => known.byTag(tag),
        list: (accountId, agentId) => known.list(accountId, agentId),
        all: () => known.all(),
        count: () => known.count,
        ensure: traced("NamespaceDirectory.ensure")(function* (accountId, agentId) {
          return known.find(accountId, agentId) ?? (yield* inTurn(create(accountId, agentId)))
        }),
        bytesOf: (tag) => known.bytesOf(tag),
        saveBytes: (counted) =>
          Effect.uninterruptible(Effect.map(write(updateBytes(sql, counted)), () => known.setBytes(counted))),
        retire: traced("NamespaceDirectory.retire")(function* (tag) {
          const now = yield* Clock.currentTimeMillis
          const retired = write(sql`UPDATE namespace SET retired_at = ${now}, bytes = NULL WHERE tag = ${tag}`)
          yield* inTurn(Effect.map(retired, () => known.retire(tag)))
        }),
        forget: (accountId) => inTurn(Effect.map(write(deleteEntries(sql, accountId)), () => known.forget(accountId))),
        addAlias: (tag, namespaceTag) => inTurn(alias(tag, namespaceTag))
      })
    })
  )
}

/** All that are not retired, with their aliases. */
const knownIn = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const known = new KnownNamespaces()
  const rows = yield* sql<EntryRow>`SELECT tag, account, agent_id, bytes FROM namespace WHERE retired_at IS NULL
    ORDER BY created_at, rowid`
  for (const row of rows) known.add({ tag: row.tag, account: row.account, agentId: row.agent_id })
  known.setBytes(new Map(rows.map(({ bytes, tag }) => [tag, bytes ?? undefined])))
  const aliases = yield* sql<AliasRow>`SELECT tag, namespace_tag FROM namespace_alias
    WHERE namespace_tag NOT IN (SELECT tag FROM namespace WHERE retired_at IS NOT NULL)`
  for (const row of aliases) known.addAlias(row.tag, row.namespace_tag)
  return known
})

const updateBytes = (sql: SqlClient.SqlClient, counted: ReadonlyMap<NamespaceTag, number | undefined>) =>
  Effect.forEach(counted, ([tag, count]) => sql`UPDATE namespace SET bytes = ${count ?? null} WHERE tag = ${tag}`, {
    discard: true
  })

const deleteEntries = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, accountId: string) {
  yield* sql`DELETE FROM namespace_alias
    WHERE namespace_tag IN (SELECT tag FROM namespace WHERE account = ${accountId})`
  yield* sql`DELETE FROM namespace WHERE account = ${accountId}`
})

/** The tag that is tried at the given attempt, from 0. */
export const candidateTag = (accountId: string, agentId: string, attempt: number): NamespaceTag =>
  sha256Hex(`${accountId}\0${agentId}${attempt === 0 ? "" : `\0${attempt}`}`).slice(0, tagDigits)

/** The agent's own tag, if it is retired, or one that no agent has or had. */
const tagFor = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, accountId: string, agentId: string) {
  const [own] = yield* sql<Pick<EntryRow, "tag">>`SELECT tag FROM namespace
    WHERE account = ${accountId} AND agent_id = ${agentId}`
  if (own !== undefined) return own.tag
  for (let attempt = 0; attempt < tagAttemptsMax; attempt++) {
    const tag = candidateTag(accountId, agentId, attempt)
    if (!(yield* isTaken(sql, tag))) return tag
  }
  return yield* Effect.die(new Error(`${tagAttemptsMax} tags in a row are taken`))
})

/** Whether a namespace, retired or not, has the tag or an alias of it. */
const isTaken = (sql: SqlClient.SqlClient, tag: NamespaceTag) =>
  Effect.map(
    sql`SELECT 1 FROM namespace WHERE tag = ${tag} UNION ALL SELECT 1 FROM namespace_alias WHERE tag = ${tag}`,
    (rows) => rows.length > 0
  )

interface EntryRow {
  readonly bytes: number | null
  readonly tag: string
  readonly account: string
  readonly agent_id: string
}

interface AliasRow {
  readonly tag: string
  readonly namespace_tag: string
}

/** Committed namespaces, by tag and by account. */
class KnownNamespaces {
  readonly #byTag = new Map<NamespaceTag, NamespaceEntry>()
  readonly #aliases = new Map<NamespaceTag, NamespaceTag>()
  readonly #byAccount = new Map<string, Map<string, NamespaceEntry>>()
  readonly #bytes = new Map<NamespaceTag, number>()

  find(accountId: string, agentId: string): NamespaceEntry | undefined {
    return this.#byAccount.get(accountId)?.get(agentId)
  }

  byTag(tag: NamespaceTag): NamespaceEntry | undefined {
    return this.#byTag.get(this.#aliases.get(tag) ?? tag)
  }

  list(accountId: string, agentId?: string): ReadonlyArray<NamespaceEntry> {
    const agents = this.#byAccount.get(accountId)
    if (agentId === undefined) return [...(agents?.values() ?? [])]
    const entry = agents?.get(agentId)
    return entry === undefined ? [] : [entry]
  }

  get count(): number {
    return this.#byTag.size
  }

  all(): ReadonlyArray<NamespaceEntry> {
    return [...this.#byTag.values()]
  }

  add(entry: NamespaceEntry): void {
    this.#byTag.set(entry.tag, entry)
    const agents = this.#byAccount.get(entry.account)
    if (agents === undefined) this.#byAccount.set(entry.account, new Map([[entry.agentId, entry]]))
    else agents.set(entry.agentId, entry)
  }

  bytesOf(tag: NamespaceTag): number | undefined {
    return this.#bytes.get(tag)
  }

  setBytes(counted: ReadonlyMap<NamespaceTag, number | undefined>): void {
    for (const [tag, bytes] of counted) {
      if (bytes === undefined) this.#bytes.delete(tag)
      else this.#bytes.set(tag, bytes)
    }
  }

  forget(accountId: string): void {
    const tags = new Set(this.list(accountId).map(({ tag }) => tag))
    for (const tag of tags) {
      this.#byTag.delete(tag)
      this.#bytes.delete(tag)
    }
    this.#forgetAliases(tags)
    this.#byAccount.delete(accountId)
  }

  retire(tag: NamespaceTag): void {
    const entry = this.#byTag.get(tag)
    if (entry === undefined) return
    this.#byTag.delete(tag)
    this.#bytes.delete(tag)
    this.#forgetAliases(new Set([tag]))
    this.#byAccount.get(entry.account)?.delete(entry.agentId)
  }

  #forgetAliases(tags: ReadonlySet<NamespaceTag>): void {
    for (const [alias, tag] of this.#aliases) if (tags.has(tag)) this.#aliases.delete(alias)
  }

  addAlias(tag: NamespaceTag, namespaceTag: NamespaceTag): void {
    this.#aliases.set(tag, namespaceTag)
  }
}

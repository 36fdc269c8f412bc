/**
 * Bytes that the memories of accounts take, and the quota of them (contract: Quotas).
 *
 * Each namespace's file counts its own bytes in its commits. Here are the sums by account: a number of `control.db` for
 * each namespace at the start, then what the actors say after each commit. Before the first commit of a process the
 * number in `control.db` is removed, and written again when the process stops; what a kill left without one is read
 * from its file when the account is next asked about. So a sum is exact after a kill, and a write looks at one number.
 *
 * For a command that another node plans (`reserve`) the most that it may take is held, and settled by what its
 * namespace takes afterwards. One without an answer may have taken it: it counts so until its namespace is heard again.
 *
 * Invariant: bytes in the files and bytes held for commands under way never exceed the quota together.
 */
import { Context, Effect, Layer, Semaphore } from "effect"
import type { NamespaceTag } from "@muniment/domain/Ids"
import { Limits } from "@muniment/domain/Limits"
import { requireQuota } from "@muniment/domain/Plans"
import { Accounts, Quotas } from "@muniment/control/accounts/Accounts"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import {
  type LiveMemories,
  StorageMeter,
  type StorageMeterService,
  StoredBytes
} from "@muniment/engine/namespace/StorageMeter"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"

export class StorageUse extends Context.Service<
  StorageUse,
  {
    /** Bytes of an account's memories. */
    readonly usedBy: (accountId: string) => Effect.Effect<number>
    /** Bytes of one agent, without reading a file; undefined: not counted since a kill. */
    readonly ofAgent: (key: NamespaceKey) => number | undefined
    /** Bytes of all accounts, without reading a file: agents that were not counted since a kill are missing. */
    readonly known: () => number
    /**
     * Live memories of an agent, or of what `part` of it names. `count` is run where they are not known since the last
     * change or expiry.
     */
    readonly live: <E>(
      key: NamespaceKey,
      part: string | undefined,
      count: Effect.Effect<LiveMemories, E>
    ) => Effect.Effect<number, E>
    /** Live memories of all accounts; undefined while there are agents whose file this process has not opened yet. */
    readonly memories: () => number | undefined
  }
>()("muniment/server/StorageUse") {
  static readonly layer = Layer.effectContext(
    Effect.gen(function* () {
      const parts: Parts = {
        accounts: yield* Accounts,
        directory: yield* NamespaceDirectory,
        quotas: yield* Quotas,
        stored: yield* StoredBytes,
        sums: new Map(),
        memories: new Map(),
        turns: yield* Semaphore.make(1)
      }
      yield* Effect.addFinalizer(() => save(parts))
      return Context.make(StorageUse, {
        usedBy: (accountId) => Effect.map(counted(parts, accountId), ({ total }) => total),
        ofAgent: (key) => agentBytes(parts, key),
        known: () => knownBytes(parts),
        live: (key, part, count) => liveIn(parts, key, part, count),
        memories: () => knownMemories(parts)
      }).pipe(Context.add(StorageMeter, meterOf(parts)))
    })
  )
}

interface Parts {
  readonly accounts: Accounts["Service"]
  readonly directory: NamespaceDirectory["Service"]
  readonly quotas: Quotas["Service"]
  readonly stored: StoredBytes["Service"]
  readonly sums: Map<string, AccountSum>
  /** An entry is replaced with each change. */
  readonly memories: Map<NamespaceTag, HeldMemories>
  /** One account is counted at a time. */
  readonly turns: Semaphore.Semaphore
}

interface HeldMemories extends Omit<LiveMemories, "count"> {
  /** Undefined: never counted. */
  readonly count: number | undefined
  /** Counts of parts, the latest last. */
  readonly parts: Map<string, LiveMemories>
}

class AccountSum {
  /** All namespaces are in it. */
  isWhole = false
  total = 0
  held = 0
  readonly byTag = new Map<NamespaceTag, number>()
  readonly heldByTag = new Map<NamespaceTag, number>()
  /** Bytes that commands without an answer may have taken. */
  readonly doubts = new Map<NamespaceTag, { readonly key: NamespaceKey; readonly bytes: number }>()

  /** Takes the owner's count of a namespace: nothing about it is in doubt any more. */
  heard(tag: NamespaceTag, bytes: number): void {
    this.set(tag, bytes)
    this.hold(tag, -(this.doubts.get(tag)?.bytes ?? 0))
    this.doubts.delete(tag)
  }

  /** Keeps the bytes held for a command of which it is unknown whether it was carried out. */
  doubt(key: NamespaceKey, held: number): void {
    if (held > 0) this.doubts.set(key.tag, { key, bytes: (this.doubts.get(key.tag)?.bytes ?? 0) + held })
  }

  set(tag: NamespaceTag, bytes: number): void {
    this.total += bytes - (this.byTag.get(tag) ?? 0)
    this.byTag.set(tag, bytes)
  }

  /** Ends holds where `bytes` is negative. */
  hold(tag: NamespaceTag, bytes: number): void {
    const before = this.heldByTag.get(tag) ?? 0
    const after = Math.max(0, before + bytes)
    this.held += after - before
    if (after === 0) this.heldByTag.delete(tag)
    else this.heldByTag.set(tag, after)
  }

  forget(tag: NamespaceTag): void {
    this.set(tag, 0)
    this.byTag.delete(tag)
    this.doubts.delete(tag)
    this.hold(tag, -Infinity)
  }
}

const sumOf = ({ sums }: Parts, accountId: string): AccountSum => {
  const known = sums.get(accountId)
  if (known !== undefined) return known
  const made = new AccountSum()
  sums.set(accountId, made)
  return made
}

const agentBytes = ({ directory, sums }: Parts, { account, tag }: NamespaceKey): number | undefined =>
  sums.get(account)?.byTag.get(tag) ?? directory.bytesOf(tag)

const knownBytes = (parts: Parts): number =>
  parts.directory.all().reduce((total, key) => total + (agentBytes(parts, key) ?? 0), 0)

const knownMemories = ({ directory, memories }: Parts): number | undefined => {
  let total = 0
  for (const { tag } of directory.all()) {
    const count = memories.get(tag)?.count
    if (count === undefined) return undefined
    total += count
  }
  return total
}

const liveIn = <E>(
  { memories }: Parts,
  { tag }: NamespaceKey,
  part: string | undefined,
  count: Effect.Effect<LiveMemories, E>
): Effect.Effect<number, E> =>
  Effect.clockWith((clock) => {
    const held = memories.get(tag)
    const known = part === undefined ? held : held?.parts.get(part)
    if (known?.count !== undefined && known.until > clock.currentTimeMillisUnsafe()) return Effect.succeed(known.count)
    return Effect.map(count, (counted) => {
      // The count may lack what has changed meanwhile.
      if (memories.get(tag) === held) remember(memories, tag, part, counted)
      return counted.count
    })
  })

const remember = (memories: Parts["memories"], tag: NamespaceTag, part: string | undefined, counted: LiveMemories) => {
  const held = memories.get(tag)
  if (part === undefined) return memories.set(tag, { ...counted, parts: held?.parts ?? new Map() })
  const parts = held?.parts ?? new Map<string, LiveMemories>()
  parts.delete(part)
  for (const oldest of parts.keys()) {
    if (parts.size < Limits.countedPartsMax) break
    parts.delete(oldest)
  }
  parts.set(part, counted)
  if (held === undefined) memories.set(tag, { count: undefined, until: -Infinity, parts })
}

/** From now on nothing that was counted before is served. */
const outdate = ({ memories }: Parts, tag: NamespaceTag): void =>
  void memories.set(tag, { count: memories.get(tag)?.count, until: -Infinity, parts: new Map() })

const meterOf = (parts: Parts): StorageMeterService => ({
  hold: Effect.fnUntraced(function* (key, growth) {
    const account = yield* parts.accounts.byId(key.account)
    const limits = account === undefined ? {} : parts.quotas.of(account)
    if (limits.bytes === undefined) return 0
    const sum = yield* counted(parts, key.account)
    const more = growth()
    // No other fiber runs between the check and the hold.
    return yield* Effect.suspend(() =>
      Effect.map(requireQuota("bytes", limits, sum.total + sum.held, more), () => {
        sum.hold(key.tag, more)
        return more
      })
    )
  }),
  reserve: Effect.fnUntraced(function* (key, most) {
    const account = yield* parts.accounts.byId(key.account)
    const limit = account === undefined ? undefined : parts.quotas.of(account).bytes
    if (limit === undefined) return undefined
    const sum = yield* counted(parts, key.account)
    const more = most()
    if (sum.total + sum.held + more > limit) yield* settleDoubts(parts, sum)
    // No other fiber runs between the look and the hold.
    return yield* Effect.sync(() => {
      const used = sum.total + sum.held
      const held = Math.max(0, Math.min(more, limit - used))
      sum.hold(key.tag, held)
      return { room: { limit, used }, held }
    })
  }),
  changing: ({ tag }) =>
    Effect.suspend(() => {
      outdate(parts, tag)
      return parts.directory.bytesOf(tag) === undefined
        ? Effect.void
        : parts.directory.saveBytes(new Map([[tag, undefined]])).pipe(
            // An erasure goes on: the file's own count is read when it is next opened.
            Effect.catch(() => Effect.logWarning("the disk is full: a count of bytes is outdated", { namespace: tag }))
          )
    }),
  settle: (key, held, bytes, memories) => {
    const { account, tag } = key
    const sum = sumOf(parts, account)
    if (bytes === "unknown") {
      outdate(parts, tag)
      return sum.doubt(key, held)
    }
    // A read has no bytes: it is news only if its count differs.
    if (memories !== undefined && (bytes !== undefined || memories.count !== parts.memories.get(tag)?.count)) {
      parts.memories.set(tag, { ...memories, parts: new Map() })
    }
    sum.hold(tag, -held)
    if (bytes !== undefined) sum.heard(tag, bytes)
  },
  forget: ({ account, tag }) => {
    const sum = sumOf(parts, account)
    parts.memories.delete(tag)
    sum.forget(tag)
    if (sum.byTag.size === 0 && sum.held === 0) parts.sums.delete(account)
  }
})

/** The account's sum with all its namespaces. */
const counted = (parts: Parts, accountId: string): Effect.Effect<AccountSum> =>
  Effect.suspend(() => {
    const sum = sumOf(parts, accountId)
    return sum.isWhole ? Effect.succeed(sum) : parts.turns.withPermit(Effect.as(count(parts, accountId, sum), sum))
  })

const count = Effect.fn("StorageUse.count")(function* (parts: Parts, accountId: string, sum: AccountSum) {
  if (sum.isWhole) return
  const { directory } = parts
  const read = new Map<NamespaceTag, number>()
  for (const key of directory.list(accountId)) {
    const known = directory.bytesOf(key.tag)
    const bytes = sum.byTag.has(key.tag) || known !== undefined ? known : yield* bytesIn(parts, key)
    // An actor that has spoken meanwhile knows better.
    if (bytes === undefined || sum.byTag.has(key.tag)) continue
    sum.set(key.tag, bytes)
    if (known === undefined) read.set(key.tag, bytes)
  }
  sum.isWhole = true
  for (const [tag, bytes] of read) if (sum.byTag.get(tag) !== bytes) read.delete(tag)
  yield* Effect.ignore(directory.saveBytes(read))
})

/** Asks namespaces with commands without an answer what they take; one that cannot say is asked again another time. */
const settleDoubts = (parts: Parts, sum: AccountSum): Effect.Effect<void> =>
  Effect.forEach(
    [...sum.doubts.values()],
    ({ key }) =>
      Effect.map(bytesIn(parts, key), (bytes) => (bytes === undefined ? undefined : sum.heard(key.tag, bytes))),
    { discard: true }
  )

/** Undefined if the file cannot be read: it counts from its next open on. */
const bytesIn = ({ stored }: Parts, key: NamespaceKey) =>
  Effect.catch(stored.of(key), (error) =>
    Effect.as(
      Effect.logWarning("the bytes of a namespace cannot be counted now", { namespace: key.tag, error: error._tag }),
      undefined
    )
  )

/** When the process stops: what is known and differs from what is saved. The actors have ended. */
const save = ({ directory, sums }: Parts): Effect.Effect<void> => {
  const changed = [...sums.values()].flatMap(({ byTag }) =>
    [...byTag].filter(([tag, bytes]) => directory.bytesOf(tag) !== bytes)
  )
  return directory
    .saveBytes(new Map(changed))
    .pipe(Effect.catch(() => Effect.logWarning("the disk is full: bytes are counted again at the next start")))
}

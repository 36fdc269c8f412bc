/**
 * Counts the rows of a namespace file that has followed the log, open or closed (`storeErrorOf.ts`); holds no lock between
 * two chunks. Claims and creates nothing.
 */
import { Effect } from "effect"
import { Limits } from "@muniment/domain/Limits"
import { conversationMessageKind } from "@muniment/domain/Memory"
import type { Database } from "@muniment/sqlite/Database"
import { metaOf, requireOwner } from "./namespaceMeta.ts"
import type { CensusOptions, NamespaceCensus, NamespaceKey } from "../NamespaceStore.ts"
import { readStored } from "./readStored.ts"
import { guarded } from "./storeErrorOf.ts"

/** Rows counted in one turn: about 3 ms if they have half a kilobyte each. */
const countedPerTurn = 10_000

export const takeCensus = Effect.fn("NamespaceStore.census")(
  (directory: string, key: NamespaceKey, options: CensusOptions) =>
    readStored(directory, key, emptyCensus, (database) => countRows(database, key, options))
)

export const storedBytes = (directory: string, key: NamespaceKey) =>
  readStored(directory, key, 0, (database) => guarded(() => bytesIn(database, key)))

const bytesIn = (database: Database, key: NamespaceKey): number => {
  requireOwner(database, key)
  return Number(metaOf(database, "bytes") ?? 0)
}

const nothing = { createdBefore: -Infinity, expiredBy: -Infinity }

const emptyCensus: NamespaceCensus = {
  live: 0,
  liveMessages: 0,
  liveBefore: 0,
  expired: 0,
  unexpired: 0,
  nextExpiry: Infinity,
  turnsBefore: 0,
  isEmpty: true
}

const countRows = Effect.fnUntraced(function* (database: Database, key: NamespaceKey, options: CensusOptions) {
  const slots = yield* guarded(() => slotsOf(database, key))
  const census = { ...emptyCensus }
  const { atMillis, createdBefore, without = nothing } = options
  const subjects = options.subjects === undefined ? null : JSON.stringify(options.subjects)
  const bounds = [atMillis, createdBefore, without.createdBefore, without.expiredBy, subjects]
  for (let from = 0; from < slots; from += countedPerTurn) {
    const row = yield* guarded(() => database.prepare(censusSql).get(from, from + countedPerTurn, ...bounds))
    census.live += Number(row?.["live"])
    census.liveMessages += Number(row?.["live_messages"])
    census.liveBefore += Number(row?.["live_before"])
    census.expired += Number(row?.["expired"])
    census.unexpired += Number(row?.["unexpired"])
    census.nextExpiry = Math.min(census.nextExpiry, Number(row?.["next_expiry"] ?? Infinity))
    yield* Effect.yieldNow
  }
  return yield* guarded(() => ({
    ...census,
    turnsBefore: turnsIn(database, createdBefore),
    isEmpty: slots === 0 && holdsNothing(database, atMillis - Limits.idempotencyRetentionMillis)
  }))
})

const holdsNothing = (database: Database, resultsSince: number): boolean =>
  database.prepare(keptSql).get(resultsSince)?.["kept"] === 0

const keptSql = `SELECT EXISTS (SELECT 1 FROM conversation)
  OR EXISTS (SELECT 1 FROM idempotency WHERE at >= ?1) AS kept`

const turnsIn = (database: Database, createdBefore: number): number =>
  Number(database.prepare(turnsSql).get(createdBefore)?.["turns"])

/** All slots in use are smaller. */
const slotsOf = (database: Database, key: NamespaceKey): number => {
  requireOwner(database, key)
  return Number(database.value("SELECT coalesce(max(slot), -1) FROM memory")) + 1
}

const turnsSql = `SELECT (SELECT count(*) FROM conversation_turn WHERE created_at < ?1)
  + (SELECT count(*) FROM conversation WHERE summary_at < ?1) AS turns`

const isUnexpired = "(expires_at IS NULL OR expires_at > ?3)"
const isLive = `created_at <= ?3 AND ${isUnexpired}`
const censusSql = `SELECT
    count(*) FILTER (WHERE ${isLive}) AS live,
    count(*) FILTER (WHERE ${isLive} AND kind = '${conversationMessageKind}') AS live_messages,
    count(*) FILTER (WHERE ${isLive} AND created_at < ?4) AS live_before,
    count(*) FILTER (WHERE expires_at <= ?3) AS expired,
    count(*) FILTER (WHERE ${isUnexpired}) AS unexpired,
    min(expires_at) FILTER (WHERE expires_at > ?3) AS next_expiry
  FROM memory WHERE slot >= ?1 AND slot < ?2
    AND created_at >= ?5 AND (expires_at IS NULL OR expires_at > ?6)
    AND (?7 IS NULL OR subject_id IN (SELECT value FROM json_each(?7)))`

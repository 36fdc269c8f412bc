/**
 * Counts the rows of a namespace file, open or closed (`readStored.ts`); holds no lock between two chunks. Claims,
 * creates and migrates nothing.
 */
import { Effect } from "effect"
import { Limits } from "@muniment/domain/Limits"
import { conversationMessageKind } from "@muniment/domain/Memory"
import { Database } from "@muniment/sqlite/Database"
import { NewerDatabase } from "@muniment/sqlite/Migrate"
import { metaOf, requireOwner } from "./namespaceMeta.ts"
import { namespaceMigrations } from "./namespaceMigrations.ts"
import type { CensusOptions, NamespaceCensus, NamespaceKey } from "../NamespaceStore.ts"
import { readStored } from "./readStored.ts"
import { guarded } from "./storeErrorOf.ts"

/** Rows counted in one turn: about 3 ms if they have half a kilobyte each. */
const countedPerTurn = 10_000

/** First schema version with conversations; an older file is not migrated for a count. */
const conversationsSince = 2

export const takeCensus = Effect.fn("NamespaceStore.census")(
  (directory: string, key: NamespaceKey, options: CensusOptions) =>
    readStored(directory, key, openAsIs, emptyCensus, (database) => countRows(database, key, options))
)

/** First schema version that counts the bytes of the memories itself. */
const bytesSince = 8

/** A file of an earlier version is counted here: the lengths of its columns, without their content. */
export const storedBytes = (directory: string, key: NamespaceKey) =>
  readStored(directory, key, openAsIs, 0, (database) => guarded(() => bytesIn(database, key)))

const openAsIs = (filename: string): Database => new Database({ filename })

const bytesIn = (database: Database, key: NamespaceKey): number => {
  if (slotsOf(database, key) === 0) return 0
  const isCounted = Number(database.value("PRAGMA user_version")) >= bytesSince
  return Number(isCounted ? metaOf(database, "bytes") : database.value(rowBytesSql))
}

const rowBytesSql = `SELECT sum(${Limits.memoryOverheadBytes} + octet_length(data) + octet_length(tags)) FROM memory`

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
  Number(database.value("PRAGMA user_version")) === namespaceMigrations.length &&
  database.prepare(keptSql).get(resultsSince)?.["kept"] === 0

const keptSql = `SELECT EXISTS (SELECT 1 FROM conversation)
  OR EXISTS (SELECT 1 FROM idempotency WHERE at >= ?1) AS kept`

const turnsIn = (database: Database, createdBefore: number): number => {
  const isOlder = Number(database.value("PRAGMA user_version")) < conversationsSince
  return isOlder ? 0 : Number(database.prepare(turnsSql).get(createdBefore)?.["turns"])
}

/** All slots in use are smaller; 0 in a file whose first migration was interrupted. */
const slotsOf = (database: Database, key: NamespaceKey): number => {
  const known = namespaceMigrations.length
  const version = Number(database.value("PRAGMA user_version"))
  if (version > known) throw new NewerDatabase({ filename: database.filename, found: version, known })
  if (version === 0) return 0
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

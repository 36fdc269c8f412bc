/**
 * Removes bases that no row points to: a node that was killed between putting a base and pointing to it left one, or
 * between pointing and removing the one before. They may hold text that was erased since.
 *
 * Invariants: a base is removed a day after it was first seen without a row that points to it, or at once if its namespace
 * was removed, and only after the database has condemned it under the lock of its namespace's row; a condemned base is
 * never pointed to. Only bases of namespaces that this cluster knows are looked at: another cluster in the same bucket
 * keeps its own.
 */
import { Clock, Effect, Schedule, type Scope } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { LogFault } from "@muniment/engine/log/LogError"
import { Rounds } from "@muniment/worker/Rounds"
import { controlTag } from "../control/ReplicatedControl.ts"
import { asked } from "../log/LogDatabase.ts"
import type { BaseFault, BaseStoreShape } from "../bases/BaseStore.ts"

interface Swept {
  /** Bases that were looked at. */
  readonly looked: number
  readonly removed: number
}

/** A base takes minutes to put, and its node may stand still meanwhile. */
const strayAfterMillis = 86_400_000
/** Days for which condemned bases are remembered for a late owner. */
const rememberedDays = 30
/** Names of one statement. */
const namesMax = 1_000
const namespaceFolder = "namespaces/"
const controlFolder = "control/"
/** Listed one after the other: tags are hex. */
const prefixes = [controlFolder, ...Array.from("0123456789abcdef", (digit) => `${namespaceFolder}${digit}`)]

/** By one node at a time: the owner of `control.db`. */
export const sweepBases = Effect.fn("BaseSweep.sweep")(function* (
  bases: BaseStoreShape
): Effect.fn.Return<Swept, LogFault | BaseFault, SqlClient> {
  const sql = yield* SqlClient
  yield* asked(sql`INSERT INTO muniment_log.sweep (begun_at) VALUES (clock_timestamp()) ON CONFLICT (is_only)
    DO UPDATE SET begun_at = excluded.begun_at, ended_at = NULL, looked = 0, removed = 0`)
  let looked = 0
  let removed = 0
  for (const prefix of prefixes) {
    const names = yield* bases.list(prefix)
    for (let at = 0; at < names.length; at += namesMax)
      removed += yield* sweepNames(bases, names.slice(at, at + namesMax))
    looked += names.length
    yield* asked(sql`UPDATE muniment_log.sweep SET looked = ${looked}::int8, removed = ${removed}::int8`)
  }
  yield* asked(sql`DELETE FROM muniment_log.stray
    WHERE seen_at < clock_timestamp() - ${rememberedDays}::int * interval '1 day'`)
  yield* asked(sql`UPDATE muniment_log.sweep SET ended_at = clock_timestamp()`)
  return { looked, removed }
})

/** -> how many were removed. */
const sweepNames = Effect.fnUntraced(function* (bases: BaseStoreShape, names: ReadonlyArray<string>) {
  const sql = yield* SqlClient
  const tags = names.map(tagOf)
  yield* asked(sql`INSERT INTO muniment_log.stray (object, tag)
    SELECT t.object, t.tag FROM unnest(${names}::text[], ${tags}::text[]) AS t(object, tag)
      JOIN muniment_log.namespace_owner o ON o.tag = t.tag
    WHERE o.base_object IS DISTINCT FROM t.object ON CONFLICT DO NOTHING`)
  const old = yield* asked(sql<{ object: string; tag: string }>`SELECT object, tag FROM muniment_log.stray
    WHERE object = ANY(${names}::text[])
      AND (is_condemned OR seen_at <= clock_timestamp() - ${strayAfterMillis}::int8 * interval '1 millisecond')`)
  let removed = 0
  // Each by itself: an append waits for one row at most.
  for (const { object, tag } of old) {
    const [row] = yield* asked(sql<{ stray: boolean }>`SELECT muniment_log.condemn(${tag}, ${object}) AS stray`)
    if (row?.stray !== true) continue
    yield* bases.remove(object)
    removed++
  }
  return removed
})

/** `namespaces/<tag>/<name>`. */
const tagOf = (name: string): string =>
  name.startsWith(controlFolder) ? controlTag : (name.slice(namespaceFolder.length).split("/")[0] ?? "")

/** While this node owns `control.db`: daily, by what the database says of the last one. */
export const sweepDaily = (bases: BaseStoreShape): Effect.Effect<void, never, SqlClient | Scope.Scope> =>
  Rounds.add({
    name: "bases that nothing points to",
    schedule: Schedule.spaced("1 hour"),
    work: sweepIfDue(bases),
    isCut: true
  })

const dueDays = 1

const sweepIfDue = Effect.fnUntraced(function* (bases: BaseStoreShape) {
  const sql = yield* SqlClient
  const [last] = yield* asked(sql<{ isDue: boolean }>`SELECT ended_at IS NULL
      OR ended_at < clock_timestamp() - ${dueDays}::int * interval '1 day' AS "isDue" FROM muniment_log.sweep`)
  if (last?.isDue === false) return
  const begunMillis = yield* Clock.currentTimeMillis
  const { looked, removed } = yield* sweepBases(bases)
  const millis = (yield* Clock.currentTimeMillis) - begunMillis
  yield* Effect.logInfo("bases that nothing points to were swept", { looked, removed, millis })
})

/**
 * The comparison with the commit log over random histories: what is as the log says passes, and a copy in which
 * anything differs is found, made again and equal to what it was.
 */
import { expect } from "vitest"
import { Effect, Layer } from "effect"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { temporaryDirectory } from "../../component/sqlite/TemporaryDirectory.ts"
import { exactOnly, namespaceKey } from "../../support/EngineFixtures.ts"
import { RandomHistory, rowsOfFile } from "../../support/RandomHistory.ts"
import { repetitions } from "../../support/Repetitions.ts"
import { chosenSeed, SeededRandom } from "../../support/SeededRandom.ts"
import { logFirst } from "../../support/SharedLog.ts"
import { it } from "../../support/it.ts"

const noPace = () => Effect.void

/** Each changes one row in a way that SQLite finds nothing wrong with. */
const changes: ReadonlyArray<readonly [string, string]> = [
  ["memory", "UPDATE memory SET tags = '[\"other\"]'"],
  ["memory", "UPDATE memory SET event_time = '2025-03-04T05:06:08Z'"],
  ["memory", "UPDATE memory SET created_seq = created_seq + 100000"],
  ["memory", "UPDATE memory SET subject_id = 's3'"],
  ["vector", "UPDATE vector SET value = zeroblob(length(value))"],
  ["passage", "UPDATE passage SET starts = starts + 1"],
  ["memory_source", "DELETE FROM memory_source"],
  ["fulltext", "UPDATE fulltext SET tags = 'other'"],
  ["fulltext_length", "UPDATE fulltext_length SET tokens = tokens + 1"],
  ["idempotency", "UPDATE idempotency SET result = '[]'"],
  ["conversation_mark", "DELETE FROM conversation_mark"],
  ["conversation_turn", "UPDATE conversation_turn SET content = 'other'"],
  ["meta", "UPDATE meta SET value = value + 1"]
]

const keyOf: Readonly<Record<string, string>> = {
  memory_source: "(key, memory)",
  idempotency: "key",
  conversation_mark: "(conversation, key)",
  meta: "key"
}

/** One of the rows of the table, or none if it has no row. */
const changeOne = (file: string, [table, sql]: readonly [string, string], random: SeededRandom): boolean => {
  const database = new DatabaseSync(file, { timeout: 5_000 })
  try {
    const column = keyOf[table] ?? "rowid"
    const where = table === "meta" ? "WHERE key = 'bytes'" : ""
    const count = Number(database.prepare(`SELECT count(*) AS count FROM ${table} ${where}`).get()!["count"])
    const one = `(SELECT ${column.replace(/[()]/g, "")} FROM ${table} ${where} LIMIT 1 OFFSET ${random.between(0, Math.max(0, count - 1))})`
    return count > 0 && Number(database.prepare(`${sql} WHERE ${column} IN ${one}`).run().changes) > 0
  } finally {
    database.close()
  }
}

const engine = (directory: string) =>
  NamespaceHost.layer({ dataDirectory: directory, index: exactOnly }).pipe(
    Layer.provideMerge(Layer.fresh(logFirst(directory)))
  )

it.effect("finds what differs in a copy, and makes it again as it was", function* () {
  const seed = chosenSeed()
  const random = new SeededRandom(seed)
  const directory = temporaryDirectory()
  let found = 0
  yield* Effect.gen(function* () {
    const host = yield* NamespaceHost
    const settled = Effect.fnUntraced(function* (history: RandomHistory, key: NamespaceKey, commands: number) {
      yield* history.run(commands)
      yield* host.settleAll
      return yield* host.check(key, noPace)
    })
    for (let round = 0; round < repetitions(60); round++) {
      const key = namespaceKey(`agent ${round}`)
      const file = join(directory, "namespaces", `${key.tag}.db`)
      const history = new RandomHistory(key, random, round % 2 === 0 ? "removes" : "changes")
      expect(yield* settled(history, key, random.between(5, 25))).toMatchObject({ faults: [] })
      const before = rowsOfFile(file)
      const change = random.pick(changes)!
      const told = `seed ${seed}, round ${round}: ${change[1]}`
      if (!changeOne(file, change, random)) continue
      expect(rowsOfFile(file), told).not.toEqual(before)
      const { faults } = yield* host.check(key, noPace)
      expect(faults.join("; "), told).toContain(`table ${change[0]}`)
      expect(rowsOfFile(file), told).toEqual(before)
      expect((yield* host.status).quarantined, told).toEqual([])
      // The agent goes on where it was.
      expect(yield* settled(history, key, 3), told).toMatchObject({ faults: [] })
      found++
    }
  }).pipe(Effect.provide(engine(directory)))
  expect(found).toBeGreaterThan(repetitions(60) / 3)
})

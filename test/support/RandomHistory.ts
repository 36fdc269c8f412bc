/**
 * Random histories of agents over the engine: memories with vectors, tags and times, replaced, patched, superseded and
 * removed, conversations with long messages and extractions; and what their files hold afterwards.
 */
import { Effect } from "effect"
import { DatabaseSync } from "node:sqlite"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import {
  axisVector,
  creating,
  extracting,
  memoryRecord,
  messageRecord,
  newMemory,
  replacementOf
} from "./EngineFixtures.ts"
import type { SeededRandom } from "./SeededRandom.ts"

const words = ["narwhal", "quagga", "zebra", "axolotl"]

/** `inserts`: nothing of the commit log is ever erased. `changes`: tags and conversations too. `removes`: everything. */
export type HistoryKind = "inserts" | "changes" | "removes"

/** The last of the choices below. */
const choices: Readonly<Record<HistoryKind, number>> = { inserts: 2, changes: 6, removes: 9 }

/** The commands of one agent; ids and keys go on from one call to the next. */
export class RandomHistory {
  readonly #key: NamespaceKey
  readonly #random: SeededRandom
  readonly #does: HistoryKind
  readonly #live: Array<number> = []
  #next = 1
  #keys = 0

  constructor(key: NamespaceKey, random: SeededRandom, does: HistoryKind) {
    this.#key = key
    this.#random = random
    this.#does = does
  }

  run(commands: number) {
    return Effect.forEach(
      Array.from({ length: commands }, (_, at) => at),
      () => this.#one,
      { discard: true }
    )
  }

  get #one() {
    return Effect.gen({ self: this }, function* () {
      const host = yield* NamespaceHost
      const number = this.#random.pick(this.#live)
      const choice = number === undefined ? 0 : this.#random.between(0, choices[this.#does])
      if (choice <= 2) return yield* host.ask(this.#key, this.#insertion())
      if (choice <= 4) return yield* host.ask(this.#key, this.#conversation())
      if (choice <= 6)
        return yield* host.ask(this.#key, {
          _tag: "PatchMemories",
          ids: [memoryRecord(number!, "").id],
          patch: { tags: [`tag${this.#next}`] },
          atMillis: 5_000 + this.#next,
          idempotency: undefined
        })
      if (choice <= 8)
        return yield* host.ask(
          this.#key,
          creating([replacementOf(this.#record(number!), axisVector(number! + 3))], `key ${this.#keys++}`)
        )
      this.#live.splice(this.#live.indexOf(number!), 1)
      return yield* host.ask(this.#key, {
        _tag: "RemoveMemories",
        ids: [memoryRecord(number!, "").id],
        idempotency: undefined
      })
    })
  }

  #insertion() {
    const records = Array.from({ length: this.#random.between(1, 3) }, () => {
      this.#live.push(this.#next)
      return newMemory(this.#record(this.#next), axisVector(this.#next++))
    })
    return creating(records, `key ${this.#keys++}`)
  }

  /** Two messages, one of them long, and what was taken from them. */
  #conversation() {
    const [first, second, taken] = [this.#next++, this.#next++, this.#next++]
    const long = Array.from({ length: 300 }, (_, at) => `${this.#random.pick(words)} ${first}.${at}`).join(" ")
    const agentId = this.#key.agentId
    const command = extracting(
      [first, second],
      [
        messageRecord(first, long, { agentId }),
        messageRecord(second, `It is the ${this.#random.pick(words)} of ${second}`, { agentId }),
        memoryRecord(taken, `taken from ${first}`, { agentId, origin: "extraction", sources: [{ key: "00" }] })
      ]
    )
    return command
  }

  #record(number: number) {
    const random = this.#random
    return memoryRecord(number, `the ${random.pick(words)} ${random.pick(words)} of bay ${number} said ${this.#next}`, {
      agentId: this.#key.agentId,
      tags: [`tag${number}`],
      when: "2025-03-04T05:06:07Z",
      subjectId: [undefined, "s1", "s2"][number % 3]
    })
  }
}

/** Every row that a namespace's file holds, as text; indexes, which are made again, left out. */
export const rowsOfFile = (filename: string): ReadonlyMap<string, ReadonlyArray<string>> => {
  const database = new DatabaseSync(filename)
  try {
    const tables = database
      .prepare(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT IN ('index_segment', 'fulltext_instance') AND (name NOT LIKE 'fulltext_%' OR name = 'fulltext_length') ORDER BY name"
      )
      .all()
      .map(({ name }) => String(name))
    return new Map(tables.map((table) => [table, rowsOf(database, table)]))
  } finally {
    database.close()
  }
}

const rowsOf = (database: DatabaseSync, table: string): ReadonlyArray<string> =>
  database
    .prepare(`SELECT * FROM "${table}"${table === "meta" ? " WHERE key <> 'erasure_due'" : ""}`)
    .all()
    .map((row) =>
      JSON.stringify(row, (_, value) => (value instanceof Uint8Array ? Buffer.from(value).toString("hex") : value))
    )
    .toSorted()

/** Entries of a diary in Chinese, and questions as people speak: words find them although the vectors mean nothing. */
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { MemorySearch } from "@muniment/engine/search/MemorySearch"
import { creating, engineOf, messageRecord, namespaceKey, newMemory } from "../../support/EngineFixtures.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"

const model = "e5-small-v2-q8"
const file = join(import.meta.dirname, "..", "..", "vectors", "recall", "diary-zh.tsv")
const pairs = readFileSync(file, "utf8")
  .trim()
  .split("\n")
  .map((line) => line.split("\t"))

/** Close to each other, as a model gives them for a language that it does not know, and in no order that says anything. */
const meaningless = (number: number): Float32Array => {
  const values = Float32Array.from({ length: 8 }, (_, at) => (at === 0 ? 3 : Math.sin(number * 7 + at * at)))
  const length = Math.hypot(...values)
  return values.map((value) => value / length)
}

it.effect("a noisy question in a language that the model does not know finds its entry by words", () =>
  Effect.gen(function* () {
    const host = yield* NamespaceHost
    const search = yield* MemorySearch
    for (const [number, [entry = ""]] of pairs.entries()) {
      const record = messageRecord(number, entry, { threadId: `day-${number}`, data: { role: "user", text: entry } })
      yield* host.ask(namespaceKey(), creating([newMemory(record, { model, values: meaningless(number) })]))
    }
    let found = 0
    for (const [number, [entry, question = ""]] of pairs.entries()) {
      const vectors = new Map([[model, meaningless(number * 3 + 1)]])
      const query = { text: question, vectors, isMeaningful: false, filter: {}, limit: 3, minRelevance: 0 }
      const { hits } = yield* search.search([namespaceKey()], query)
      if (hits.some(({ memory }) => memory.data["text"] === entry)) found++
    }
    expect(found).toBeGreaterThanOrEqual(pairs.length - 1)
  }).pipe(Effect.provide(engineOf(temporaryDirectory())))
)

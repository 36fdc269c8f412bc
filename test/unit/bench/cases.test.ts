/** The conversations of `bench/cases`: evidence that exists, patterns that match it, facts that were said. */
import { layer as nodeServices } from "@effect/platform-node/NodeServices"
import { readCases } from "@muniment/cli/evaluation/CaseFiles"
import { Effect } from "effect"
import { join } from "node:path"
import { describe, expect, it } from "vitest"

const folder = join(import.meta.dirname, "../../../bench/cases")
const read = (part: string) => Effect.runPromise(readCases(join(folder, part)).pipe(Effect.provide(nodeServices)))
const [open, held] = [(await read("open")).conversations, (await read("held")).conversations]
const all = [...open, ...held]

describe("the conversations", () => {
  it("are twenty, half of them held out, 12 in English and 8 in five more languages or more", () => {
    expect([open.length, held.length]).toEqual([10, 10])
    const languages = Map.groupBy(all, ({ id }) => id.split("-")[0])
    expect(languages.get("en")).toHaveLength(12)
    expect(languages.size).toBeGreaterThanOrEqual(6)
    expect(new Set(all.map(({ id }) => id)).size).toBe(20)
  })

  it("ask for every type of question", () => {
    const types = new Set(all.flatMap(({ questions }) => questions.map(({ type }) => type)))
    for (const type of "fact other current past date number yesno preference why multi list paraphrase none".split(
      " "
    )) {
      expect(types).toContain(type)
    }
  })
})

describe.each(all.map((one) => [one.id, one] as const))("%s", (_, { facts, messages, questions }) => {
  const textOf = (ids: ReadonlyArray<string>): string =>
    messages
      .filter(({ id }) => ids.includes(id))
      .map(({ content, name = "" }) => `${content} ${name}`)
      .join(" ")
  const whole = textOf(messages.map(({ id }) => id))

  it("has 25 to 60 messages in the order of time, and 12 to 20 questions", () => {
    expect(messages.length).toBeGreaterThanOrEqual(25)
    expect(messages.length).toBeLessThanOrEqual(60)
    expect(questions.length).toBeGreaterThanOrEqual(12)
    expect(questions.length).toBeLessThanOrEqual(20)
    const times = messages.map(({ sentAt = "" }) => Date.parse(sentAt))
    expect(times).toEqual(times.toSorted((left, right) => left - right))
  })

  it("has patterns that match their evidence", () => {
    for (const { answer, derived = false, evidence = [], q } of questions) {
      if (derived || evidence.length === 0) continue
      expect(
        answer.some((pattern) => new RegExp(pattern, "is").test(textOf(evidence))),
        q
      ).toBe(true)
    }
  })

  it("has an answer and evidence, or neither where nothing answers", () => {
    for (const { abstain = false, answer, evidence = [], q, type } of questions) {
      expect(
        [answer.length, evidence.length].map((length) => length > 0),
        q
      ).toEqual(type === "none" ? [false, false] : [true, !abstain])
    }
  })

  it("has said the facts that are true", () => {
    for (const fact of facts.filter((one) => one.true)) {
      for (const pattern of fact.says) expect(whole).toMatch(new RegExp(pattern, "i"))
    }
  })
})

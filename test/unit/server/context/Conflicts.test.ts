/** Facts of a subject that contradict each other (contract: Context): pairs that do, and pairs that may both hold. */
import { expect, it } from "vitest"
import { conflictsIn } from "@muniment/server/context/Conflicts"
import { lineOf, type SubjectFact } from "@muniment/server/context/SubjectFacts"

const start = Date.UTC(2026, 10, 1)

const known = (at: number, kind: string, data: Record<string, string>, about?: string): SubjectFact => {
  const memory: SubjectFact["memory"] = {
    id: `mem_${at}`,
    agentId: "a",
    kind,
    data,
    tags: [],
    mentions: [],
    confidence: 1,
    contentHash: "",
    createdAt: start + at,
    updatedAt: start + at,
    origin: "direct",
    isLatest: true
  }
  return { memory, text: lineOf(memory), about, topic: "other", sinceMillis: start + at }
}
const facts = (texts: ReadonlyArray<string>, about?: string) =>
  texts.map((fact, at) => known(at, "factual_memory", { subject: about ?? "Alice", fact }, about))
const liked = (at: number, preferenceType: string, preference: string) =>
  known(at, "preference_memory", { subject: "Alice", preferenceType, preference })

it.each([
  ["home", "lives in Oslo", "lives in Bergen"],
  ["home", "moved from Oslo to Porto", "lives in Oslo"],
  ["home", "lives in New York", "lives in New Delhi"],
  ["workplace", "works at Toto", "works for Acme as a civil engineer"],
  ["occupation", "is a nurse", "works as a teacher"],
  ["age", "is 34 years old", "Alice turned 35"],
  ["car", "drives a red Volvo", "drives a Fiat"],
  ["favourite colour", "Alice's favourite colour is blue", "Alice's favourite colour is green"]
])("is a conflict about %s: %s, %s", (attribute, one, other) => {
  expect(conflictsIn(facts([one, other]))).toMatchObject([
    { attribute, facts: [{ memory: { id: "mem_1" } }, { memory: { id: "mem_0" } }] }
  ])
})

it.each([
  ["lives in Oslo", "lives in Oslo, Norway"],
  ["lives in Oslo with Bob", "lives in Oslo with two cats"],
  ["moved from Oslo to Porto", "lives in Porto"],
  ["used to live in Bergen", "lives in Oslo"],
  ["no longer works at Acme", "works at Toto"],
  ["is a nurse", "works as a nurse"],
  ["lives in Oslo", "works in Bergen"],
  ["Alice's sister is Kate", "Alice's sister is Ann"],
  ["is allergic to nuts", "is vegan"],
  ["likes walks", "plays chess"]
])("is none: %s, %s", (one, other) => {
  expect(conflictsIn(facts([one, other]))).toEqual([])
})

it("is none between different people, and one about another than the subject", () => {
  const of = (about: string | undefined, texts: ReadonlyArray<string>) => facts(texts, about)
  expect(conflictsIn([...of(undefined, ["lives in Oslo"]), ...of("Bob", ["lives in Bergen"])])).toEqual([])
  expect(conflictsIn(of("Bob", ["lives in Oslo", "lives in Bergen"]))).toMatchObject([
    { attribute: "home", facts: [{ about: "Bob" }, { about: "Bob" }] }
  ])
})

it("is a liking and a dislike of the same thing", () => {
  expect(conflictsIn([liked(0, "likes", "green tea"), liked(1, "dislikes", "green tea")])).toMatchObject([
    { attribute: "green tea", facts: [{}, {}] }
  ])
  expect(conflictsIn([liked(0, "likes", "green tea"), liked(1, "prefers", "green tea")])).toEqual([])
  expect(conflictsIn([liked(0, "likes", "tea"), liked(1, "avoids", "coffee")])).toEqual([])
})

/** Conversations as a whole: names, context, summaries, corrections, kinds, bounds. */
import { describe, expect, it } from "@effect/vitest"
import { rulesLimits } from "@muniment/insight/rules/RulesProtocol"
import { messageInjections } from "../../../support/Injections.ts"
import { brief, briefs, read, said } from "./reading.ts"
import { cpuMillisNow } from "../../../support/CpuTime.ts"

const kind = (name: string, properties: Record<string, unknown>, required: ReadonlyArray<string> = []) => ({
  name,
  description: "",
  schema: JSON.stringify({ type: "object", properties, required })
})
const text = { type: "string" }
const dataOf = (kinds: ReadonlyArray<ReturnType<typeof kind>>, ...contents: ReadonlyArray<string>) =>
  read({ kinds, messages: said(...contents) }).candidates.map(({ data }) => data)

it("a key that says whose a record is takes the speaker's name, and `user` where no name was told", () => {
  const homes = (field: string, ...contents: ReadonlyArray<string>) => {
    const profile = { ...kind("user_profile", { [field]: text, city: text }, [field, "city"]), uniqueOn: [field] }
    return dataOf([profile], ...contents)
  }
  for (const field of ["user_id", "owner", "customerName", "name"]) {
    expect(homes(field, "I moved to Porto.")).toEqual([{ [field]: "user", city: "Porto" }])
    expect(homes(field, "My name is Ines and I live in Lisbon.")).toEqual([{ [field]: "Ines", city: "Lisbon" }])
  }
})

it("a pronoun means the relative named last, also where the sentence says nothing of them", () => {
  expect(briefs("We have a dog named Bella.", "I wrote a poem about my mother. She is Greek.")).toContain(
    "user's mother: The user's mother is Greek"
  )
  expect(briefs("I wrote a poem about my mother and my aunt. She is Greek.")).toEqual([])
})

it("a joke that is taken back in the next message leaves nothing of what the same person said before, and all of others", () => {
  const messages = [
    { role: "user", name: "Ines", content: "I live in Lisbon." },
    { role: "user", name: "Tomas", content: "I bought a boat in May." },
    { role: "user", name: "Tomas", content: "joking. mostly" }
  ] as const
  expect(read({ messages }).candidates.map(brief)).toEqual(["Ines: Ines lives in Lisbon"])
})

it("a weekday with the day of the month is that day, or none if the two disagree", () => {
  const days = (text: string) => read({ messages: said(text) }).candidates.map(({ data }) => data["eventDate"])
  expect(days("The release moved to Thursday the 26th, legal needs two more days.")).toEqual(["2026-03-26"])
  expect(days("My exam is on Thursday the 25th.")).toEqual([])
})

describe("a conversation read by rules", () => {
  it("gives name and home of the sentence that every client tries first", () => {
    const { candidates, summary } = read({ messages: said("My name is Alice and I live in Seattle.") })
    expect(candidates.map(({ data }) => data)).toEqual([
      { subject: "Alice", fact: "The user's name is Alice", source: "user" },
      { subject: "Alice", fact: "Alice lives in Seattle", source: "user" }
    ])
    expect(candidates[1]?.mentions).toEqual([
      { name: "Alice", type: "person" },
      { name: "Seattle", type: "place" }
    ])
    expect(summary).toBe("user's name: Alice")
  })

  it("knows the user's name before it is told, from context and from the summary", () => {
    expect(briefs("I live in Rome.", "My name is Ana.")[0]).toEqual("Ana: Ana lives in Rome")
    const context = [{ role: "user" as const, content: "My name is Ana." }]
    expect(read({ context, messages: said("I live in Rome.") }).candidates.map(brief)).toEqual([
      "Ana: Ana lives in Rome"
    ])
    const later = read({ summary: "user's name: Ana\nuser's sister: Eva", messages: said("My sister lives in Rome.") })
    expect(later.candidates.map(brief)).toEqual(["Eva: Eva lives in Rome"])
  })

  it("takes nothing from context, assistants and systems", () => {
    const turn = { role: "assistant" as const, content: "My name is Max and I live in Rome." }
    expect(read({ messages: [turn, { ...turn, role: "system" }] }).candidates).toEqual([])
    expect(read({ context: said("I live in Rome."), messages: said("Thanks!") }).candidates).toEqual([])
  })

  it("puts a bare answer and its question together", () => {
    const messages = [
      { role: "assistant" as const, content: "Nice! Where do you live?" },
      { role: "user" as const, content: "Berlin." }
    ]
    expect(read({ messages }).candidates.map(brief)).toEqual(["user: The user lives in Berlin"])
  })

  it("forgets a name that is corrected", () => {
    expect(briefs("My name is Rob.", "Actually, it's Bob, not Rob.")).toEqual(["Bob: The user's name is Bob"])
  })

  it("cites every message that told the same thing, once", () => {
    const { candidates } = read({ messages: said("I love jazz.", "Thanks.", "I love jazz!") })
    expect(candidates.map(({ sources }) => sources)).toEqual([[0, 2]])
  })

  it("resolves a pronoun only when one person can be meant", () => {
    expect(briefs("My sister Anna called. She lives in Rome.")).toContain("Anna: Anna lives in Rome")
    expect(briefs("My sister Anna met my aunt Eva. She lives in Rome.").join()).not.toContain("Rome")
  })

  it("counts days from the message that names them", () => {
    const appointment = (sentAt?: string) => ({
      role: "user" as const,
      content: "I have a dentist appointment on the 28th.",
      sentAt
    })
    const days = [undefined, "2026-01-30T23:30:00-02:00", "2025-12-01T08:00:00Z", "not a time"].map((sentAt) =>
      read({ messages: [appointment("2026-06-02T09:00:00Z"), appointment(sentAt)] })
        .candidates.map(({ data }) => data["eventDate"])
        .toSorted()
    )
    const june = "2026-06-28"
    expect(days).toEqual([
      ["2026-03-28", june],
      ["2026-02-28", june],
      ["2025-12-28", june],
      ["2026-03-28", june]
    ])
  })

  it("reads the same conversation the same way again", () => {
    const task = {
      messages: said("My name is Alice.", "I love tea and jazz.", "My dog Rex is 5.", "I fly to Rome tomorrow.")
    }
    expect(read(task)).toEqual(read(task))
  })

  it("makes no candidate and no summary of what an injected message wants", () => {
    for (const attack of messageInjections) {
      const { candidates, summary } = read({ messages: [{ role: attack.place, content: attack.text }] })
      const told = JSON.stringify([candidates, summary ?? ""]).toLowerCase()
      for (const word of attack.forbidden) expect(told, attack.id).not.toContain(word.toLowerCase())
    }
  })

  it("reads hostile text in bounded time and says what it left out", () => {
    const hostile = [
      "a".repeat(32_000),
      "I live in ".repeat(3_200),
      `I like ${"(".repeat(16_000)}${")".repeat(16_000)}`,
      "tomorrow and on 3 May ".repeat(1_400),
      "I like a, b and c, ".repeat(1_600),
      "my my my my my my sister's sister's ".repeat(800),
      '"I live in Rome" '.repeat(2_000),
      "`a` ".repeat(8_000)
    ]
    for (const content of hostile) {
      const startedMillis = cpuMillisNow()
      const { candidates, dropped } = read({ messages: said(content) })
      expect(cpuMillisNow() - startedMillis, content.slice(0, 20)).toBeLessThan(rulesLimits.deadlineMillis)
      expect(candidates.length).toBeLessThanOrEqual(rulesLimits.candidatesMax)
      expect(dropped.length, content.slice(0, 20)).toBeGreaterThan(0)
    }
  })
})

describe("registered kinds", () => {
  it("are filled by the names, types, enums and formats of their fields", () => {
    const contact = kind("contact", { name: text, email: { type: "string", format: "email" }, phone: text }, [
      "name",
      "email"
    ])
    expect(dataOf([contact], "My colleague Ana Silva's email is ana@example.com.")).toEqual([
      { name: "Ana Silva", email: "ana@example.com" }
    ])
    const pet = kind("pet", { name: text, species: { enum: ["cat", "dog"] }, age: { type: "integer" } }, [
      "name",
      "species"
    ])
    expect(dataOf([pet], "I have a cat named Luna. She is 3 years old.")).toEqual([
      { name: "Luna", species: "cat", age: 3 }
    ])
    const meeting = kind(
      "meeting",
      { title: text, date: { type: "string", format: "date" }, attendees: { type: "array", items: text } },
      ["title", "date"]
    )
    expect(dataOf([meeting], "I have a budget meeting with Priya on March 9 at 10am.")).toEqual([
      { title: "budget meeting", date: "2026-03-09", attendees: ["Priya"] }
    ])
    const profile = kind("user_profile", { name: text, city: text, age: { type: "integer" }, occupation: text }, [
      "name"
    ])
    expect(dataOf([profile], "My name is Ana, I'm 28 and I live in Rome. I work as a nurse.")).toEqual([
      { name: "Ana", city: "Rome", age: 28, occupation: "nurse" }
    ])
  })

  it("stay unfilled when a required field is not in the text, with the reason", () => {
    const pet = kind("pet", { name: text, species: text, age: { type: "integer" } }, ["name", "species", "age"])
    const { candidates, dropped } = read({ kinds: [pet], messages: said("I have a cat named Luna.") })
    expect(candidates).toEqual([])
    expect(dropped.map(({ kind, message }) => [kind, message])).toEqual([["pet", "the text does not tell age"]])
  })

  it("leave the built-in kinds alone when those were not asked for", () => {
    expect(dataOf([kind("recipe", { title: text })], "My name is Alice and I live in Seattle.")).toEqual([])
  })
})

/**
 * Some 550 statements and exchanges as people type them, with what a careful reader would keep, against
 * the rules as a whole. A line of wordings.txt is `text => wanted ; wanted`: `f`, `p`, `e`, `x` (any kind)
 * or `?` (may be kept), `@who`, alternatives with `/`, all of `+`, `#` a day.
 * `A>` and `U>` are turns; `-` wants nothing.
 */
import { readFileSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import type { Candidate } from "@muniment/insight/extraction/Extractor"
import { factKinds } from "@muniment/schemas/BuiltinKinds"
import { read } from "./reading.ts"

const conversationDate = "2026-06-10"
const kindOf: Readonly<Record<string, string>> = { f: "factual_memory", p: "preference_memory", e: "temporal_event" }
/** What the rules reach: wishes, needs, plans without a day and most open facts do not pass the output gate. */
const floors = { precision: 0.96, recall: 0.54, trapsMax: 3 } as const

const says = (text: string, alternatives: string): boolean =>
  alternatives.split("/").some((word) => text.includes(word.toLowerCase()))

const isMet = (wanted: string, { data, kind }: Candidate): boolean => {
  const [, types = "", who, terms = "", day] = /^(\S+?)(?:@(\S+))? ([^#]*?)(?: ?#(\S+))?$/.exec(wanted) ?? []
  const text = JSON.stringify(data).toLowerCase()
  if (types !== "x" && types !== "?" && !types.split("/").some((type) => kindOf[type] === kind)) return false
  if (day !== undefined && !String(data["eventDate"] ?? "").startsWith(day)) return false
  return (who === undefined || says(text, who)) && terms.split("+").every((term) => says(text, term))
}

interface Tally {
  readonly missed: ReadonlyArray<string>
  readonly wrong: ReadonlyArray<string>
  readonly wanted: number
  readonly found: number
}

const turnsOf = (text: string) =>
  (text.startsWith("A> ") ? text.split(/ (?=U> )/) : [`U> ${text}`]).map((turn) => ({
    role: turn.startsWith("A>") ? ("assistant" as const) : ("user" as const),
    content: turn.slice(3)
  }))

const tally = (line: string): Tally => {
  const [text = "", told = ""] = line.split(" => ")
  const wants = told === "-" ? [] : told.split(" ; ")
  const left = [...read({ kinds: factKinds, messages: turnsOf(text), conversationDate }).candidates]
  const found = left.length
  const missed: Array<string> = []
  for (const wanted of wants.toSorted((one, other) => Number(one.startsWith("?")) - Number(other.startsWith("?")))) {
    const at = left.findIndex((candidate) => isMet(wanted, candidate))
    if (at >= 0) left.splice(at, 1)
    else if (!wanted.startsWith("?")) missed.push(`${text}: ${wanted}`)
  }
  const wrong = left.map(({ data }) => `${text}: ${JSON.stringify(data)}`)
  return { missed, wrong, found, wanted: wants.filter((wanted) => !wanted.startsWith("?")).length }
}

const sections = readFileSync(new URL("./wordings.txt", import.meta.url), "utf8")
  .split(/^# /m)
  .map((section) => {
    const [topic = "", ...lines] = section.trim().split("\n")
    return { topic, tallies: lines.filter((line) => line.includes(" => ")).map(tally) }
  })
const isTrap = ({ topic }: { readonly topic: string }) => topic.startsWith("traps")
const sum = (numbers: ReadonlyArray<number>) => numbers.reduce((total, one) => total + one, 0)

describe("wordings", () => {
  const plain = sections.filter((section) => !isTrap(section)).flatMap(({ tallies }) => tallies)

  it("are understood", () => {
    const missed = plain.flatMap((one) => one.missed)
    const wanted = sum(plain.map((one) => one.wanted))
    expect(1 - missed.length / wanted, missed.join("\n")).toBeGreaterThanOrEqual(floors.recall)
  })

  it("are not misunderstood", () => {
    const wrong = plain.flatMap((one) => one.wrong)
    const found = sum(plain.map(({ found }) => found))
    expect(1 - wrong.length / found, wrong.join("\n")).toBeGreaterThanOrEqual(floors.precision)
  })

  it("that state nothing of the user leave nothing behind", () => {
    const wrong = sections.filter(isTrap).flatMap(({ tallies }) => tallies.flatMap((one) => one.wrong))
    expect(wrong.length, wrong.join("\n")).toBeLessThanOrEqual(floors.trapsMax)
  })
})

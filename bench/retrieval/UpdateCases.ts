/**
 * Facts that change in the course of a chat, of our own writing: what was said first, what was said later, and a
 * question about today, among everyday messages; beside them controls, where the older message is the right one. Parts
 * `tune` were looked at while rules were written, parts `held` only when they were done. In `threads`, the newer value
 * is said in a few words within a talk about the matter ("it's 1,050 now"). Cases of `everyday` are written twice: as
 * messages, and as facts that a caller stores.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { nobody, type People } from "@muniment/language/people/People"
import { askedQuestion } from "@muniment/language/question/AskedQuestion"
import { neighboursOf, type Corpus } from "./Locomo.ts"

export const updateParts = ["tune", "held", "threads-tune", "threads-held", "everyday-tune", "everyday-held"] as const
/** Parts of which everyday chats with many facts are made. */
export const mixedParts = ["tune", "held"] as const
export type UpdatePart = (typeof updateParts)[number]

interface Said {
  readonly by: string
  readonly text: string
}

interface WrittenCase {
  readonly question: string
  /** In order; by the first speaker, unless it says by whom. */
  readonly said?: ReadonlyArray<string | Said>
  /**
   * In place of `said`: talks in order, each with its messages. Before the first space stands who says it (a name, or U
   * for the user and A for the assistant), with a `*` if it tells a value.
   */
  readonly scenes?: ReadonlyArray<ReadonlyArray<string>>
  /** The same as facts, in order. */
  readonly facts?: ReadonlyArray<string>
  /** A chat between these two; without it, one with an assistant. */
  readonly by?: readonly [string, string]
}

interface Written {
  /** The user's name, by which the questions call them. */
  readonly user?: string
  readonly updates: ReadonlyArray<WrittenCase>
  readonly controls: ReadonlyArray<WrittenCase>
  /** What is said in between, and the answer to it. */
  readonly fillers: ReadonlyArray<readonly [string, string]>
}

type SpokenTurn = Omit<ChatTurn, "session" | "when">

export interface UpdateCase {
  readonly isControl: boolean
  /** One question; its evidence is what must come first: of an update the newest value, of a control the oldest. */
  readonly corpus: Corpus
  /** Slots of what was said about the matter, in order. */
  readonly said: ReadonlyArray<number>
}

export interface ChatTurn {
  readonly role: "user" | "assistant"
  readonly name: string | undefined
  readonly text: string
  readonly session: number
  /** ISO 8601. */
  readonly when: string
}

/** Pairs of everyday messages in a chat: from the least to the greatest number. */
const fillersMin = 10
const fillersMax = 30
const turnsPerDay = 8
const firstDay = Date.UTC(2026, 0, 5, 18)
const dayMillis = 86_400_000

export const readUpdateCases = (part: UpdatePart): ReadonlyArray<UpdateCase> => {
  const { controls, fillers, updates } = readWritten(part)
  return [
    ...updates.map((one, at) => caseOf(one, at, fillers, false)),
    ...controls.map((one, at) => caseOf(one, at + updates.length, fillers, true))
  ]
}

/** Cases as facts that a caller stores, among those of the other updates; the earlier states of all come first. */
export const readDirectCases = (part: UpdatePart): ReadonlyArray<UpdateCase> => {
  const { controls, updates } = readWritten(part)
  return [...updates, ...controls].map(({ facts = [], question }, number): UpdateCase => {
    const others = updates.flatMap((one) => (one.facts?.[0] === facts[0] ? [] : [one.facts ?? []]))
    const said = [others.length, 2 * others.length + 1]
    const texts = [...others.map(([older]) => older), facts[0], ...others.map((states) => states.at(-1)), facts.at(-1)]
    const isControl = number >= updates.length
    const memories = texts.map((text = "") => ({
      kind: "factual_memory",
      data: { subject: /^\p{Lu}\p{L}+/u.exec(text)?.[0] ?? "", fact: text },
      tags: [],
      neighbours: []
    }))
    const questions = [{ text: question, evidence: new Set([said[isControl ? 0 : 1]!]), isAdversarial: false }]
    return { isControl, said, corpus: { name: `fact ${number}`, speakers: [], memories, questions } }
  })
}

/** Parts of other forms have the everyday messages of the plain part of the same half. */
const readWritten = (part: UpdatePart): Written => {
  const file = join(import.meta.dirname, "..", "..", "test", "vectors", "recall", `updates-${part}.json`)
  const written: Written = JSON.parse(readFileSync(file, "utf8"))
  const { user } = written
  const people: People = {
    ...nobody,
    isChat: true,
    user: user === undefined ? undefined : { name: user, aliases: [], relations: [] }
  }
  // As a search reads them.
  const asked = <C extends WrittenCase>(one: C): C => ({ ...one, question: askedQuestion(one.question, people).text })
  return {
    ...(part.includes("-") && { fillers: readWritten(part.endsWith("tune") ? "tune" : "held").fillers }),
    ...written,
    updates: written.updates.map(asked),
    controls: written.controls.map(asked)
  }
}

/** Everyday messages differ in number and order from case to case; what was said is spread evenly among them. */
const caseOf = (written: WrittenCase, number: number, fillers: Written["fillers"], isControl: boolean): UpdateCase => {
  const { by, question } = written
  const scenes = scenesOf(written)
  const count = fillersMin + ((number * 7) % (fillersMax - fillersMin + 1))
  const turns: Array<SpokenTurn> = []
  const places: Array<number> = []
  let begun = 0
  for (let at = 0; at < count; at++) {
    while (begun < scenes.length && at === Math.round(((begun + 0.5) * count) / scenes.length)) {
      for (const { holds, ...turn } of scenes[begun++]!) {
        if (holds) places.push(turns.length)
        turns.push(turn)
      }
    }
    const [asks, answers] = fillers[(number * 11 + at) % fillers.length]!
    turns.push({ role: "user", name: by?.[at % 2], text: asks })
    turns.push({ role: by === undefined ? "assistant" : "user", name: by?.[(at + 1) % 2], text: answers })
  }
  const evidence = new Set([isControl ? places[0]! : places.at(-1)!])
  const corpus = chatCorpus(`case ${number}`, turns, [{ text: question, evidence, isAdversarial: false }])
  return { isControl, corpus, said: places }
}

interface SceneTurn extends SpokenTurn {
  /** Whether it tells a value. */
  readonly holds: boolean
}

const scenesOf = ({ by, said = [], scenes }: WrittenCase): ReadonlyArray<ReadonlyArray<SceneTurn>> =>
  scenes?.map((lines) => lines.map((line) => spoken(line, by))) ??
  said.map((one) => [{ ...saidBy(one, by), holds: true }])

const spoken = (line: string, by: WrittenCase["by"]): SceneTurn => {
  const [, who = "", mark, text = ""] = /^(\S+?)(\*?) (.*)$/s.exec(line) ?? []
  const isAssistant = by === undefined && who === "A"
  return {
    role: isAssistant ? "assistant" : "user",
    name: by === undefined ? undefined : who,
    text,
    holds: mark === "*"
  }
}

const saidBy = (said: string | Said, by: WrittenCase["by"]): SpokenTurn =>
  typeof said === "string"
    ? { role: "user", name: by?.[0], text: said }
    : { role: "user", name: said.by, text: said.text }

/** Messages of a chat, some of them on each day, as memories. */
const chatCorpus = (name: string, chat: ReadonlyArray<SpokenTurn>, questions: Corpus["questions"]): Corpus => {
  const turns = chat.map((turn, at): ChatTurn => {
    const session = Math.floor(at / turnsPerDay)
    const sentAt = firstDay + session * dayMillis + (at % turnsPerDay) * 60_000
    return { ...turn, session, when: new Date(sentAt).toISOString() }
  })
  const speakers = [...new Set(turns.map((turn) => turn.name ?? turn.role))]
  const memories = turns.map(({ name: speaker, role, text, when }, at) => ({
    kind: "conversation_message",
    data: { role, ...(speaker !== undefined && { name: speaker }), text },
    tags: [],
    when,
    neighbours: neighboursOf(turns, at)
  }))
  return { name, speakers, memories, questions }
}

/** Everyday chats of 60 messages with what is said in a quarter of the updates; questions: theirs, then foreign ones. */
export const mixedChats = (part: UpdatePart): ReadonlyArray<MixedChat> => {
  const { fillers, updates } = readWritten(part)
  const cases = updates.filter(({ by }) => by === undefined)
  return Array.from({ length: quarters }, (_, quarter) => {
    const own = cases.filter((__, at) => at % quarters === quarter)
    const said = [0, 1].flatMap((state) =>
      own.map(({ said: states = [] }, at) => ({ at, text: String(states.at(-state)) }))
    )
    const turns: Array<SpokenTurn> = []
    const evidence = own.map(() => new Set<number>())
    const pairs = Math.round((mixedSize - said.length) / 2)
    for (let pair = 0; pair < pairs; pair++) {
      const [asks, answers] = fillers[(quarter * 11 + pair) % fillers.length]!
      turns.push({ role: "user", name: undefined, text: asks }, { role: "assistant", name: undefined, text: answers })
      for (const [number, { at, text }] of said.entries()) {
        if (Math.floor(((number + 0.5) * pairs) / said.length) !== pair) continue
        evidence[at]!.add(turns.length)
        turns.push({ role: "user", name: undefined, text })
      }
    }
    const foreign = cases.filter((one, at) => at % quarters === (quarter + 1) % quarters && !own.includes(one))
    const questions = own.map(({ question: text }, at) => ({ text, evidence: evidence[at]!, isAdversarial: false }))
    return {
      corpus: chatCorpus(`${part} ${quarter}`, turns, questions),
      foreign: foreign.map(({ question }) => question)
    }
  })
}

export interface MixedChat {
  readonly corpus: Corpus
  /** Questions that have no answer in it. */
  readonly foreign: ReadonlyArray<string>
}

const quarters = 4
const mixedSize = 60

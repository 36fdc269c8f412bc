/**
 * Slots: attributes that have one value at a time, such as a home, an employer, a password or whether someone still likes
 * tea. A statement of the slot that a question asks for is its answer, and of several values the one said last holds.
 *
 * Extracted memories carry their slot as `uniqueKey`, and the engine hides those that were replaced; this does the same among
 * statements that were stored directly and messages of one speaker. Preferences for different things, relatives and events
 * have no slot: they accumulate. Rows are data: the tests run their questions, examples and counterexamples.
 */
import { tokenize } from "@muniment/engine/text/Tokenizer"
import type { MemoryStatement } from "./MemoryStatement.ts"
import type { Evidence } from "./WrittenAnswer.ts"

interface SlotForm {
  readonly slot: string
  /** Of a question in lower case. */
  readonly asked: RegExp
  /** Of a statement, in the first or third person. */
  readonly stated: RegExp
  readonly question: string
  readonly example: string
  readonly counterexample: string
}

export const slotForms: ReadonlyArray<SlotForm> = [
  {
    slot: "home",
    asked:
      /\bwhere (?:do|does|did|is|am) (?:\S+ ){1,3}?(?:live|living|based)\b(?! with)|\bwhat (?:city|town|country) (?:do|does|did) (?:\S+ ){1,3}?live\b|\bin which (?:city|town|country) (?:do|does|did) (?:\S+ ){1,3}?live\b/,
    stated:
      /\b(?:[Ll]ives? (?:in|at|near)|living in|resides? in|(?:moved|relocated) (?:from [\p{L} ]+ )?to|(?:is|am|['’]m) based in) \p{Lu}/u,
    question: "where does ann live now?",
    example: "I moved from Oslo to Porto",
    counterexample: "I moved to a better chair"
  },
  {
    slot: "workplace",
    asked:
      /\bwhere (?:do|does|did) (?:\S+ ){1,3}?work\b|\bwho (?:do|does|did) (?:\S+ ){1,3}?work for\b|\b(?:employer|workplace)\b/,
    stated:
      /\b(?:work(?:s|ed)? (?:at|for)|(?:is|am) employed (?:at|by)|new job at|joined|started (?:working )?at) (?:the )?\p{L}/u,
    question: "where does ann work?",
    example: "Ann works at Toto",
    counterexample: "Ann works in the garden"
  },
  {
    slot: "occupation",
    asked:
      /\bdo(?:es)? (?:\S+ ){1,3}?do for (?:a living|work)\b|\bwhat(?:'s| is) [^?]*\b(?:job|profession|occupation)\b/,
    stated:
      /\bworks? as an? \p{L}|(?:^|\bI(?: a|['’])m|\bis) an? (?:[\p{L}-]+ ){0,2}?(?:[\p{L}-]{3,}(?:eer|ist|yst|ician|wright)|nurse|teacher|doctor|chef|lawyer|writer|carpenter|plumber|electrician|pilot|vet|actor|singer|painter|builder|baker|driver|farmer|translator|illustrator|paramedic|designer|programmer|developer|accountant|architect|librarian|cook|captain)\b/u,
    question: "what does ann do for a living?",
    example: "Omar is a civil engineer",
    counterexample: "I work as hard as I can"
  },
  {
    slot: "name",
    asked: /^who am i\b|\bwhat(?:'s| is) my (?:full |first )?name\b/,
    stated: /\bname is \p{Lu}|\b[Uu]ser is (?:called|named) \p{Lu}|\bI['’]m called \p{Lu}/u,
    question: "what is my name?",
    example: "The user's name is June",
    counterexample: "My dog is called Rex"
  },
  {
    slot: "car",
    asked: /\bcar\b[^?]*\bdrive\b|\bwhat(?:'s| is) [^?]*\bcar\b/,
    stated: /\bdrives? an? \p{L}/u,
    question: "what kind of car does ann drive?",
    example: "I drive a blue Subaru",
    counterexample: "My sister drives me home"
  },
  {
    slot: "age",
    asked: /\bhow old (?:is|am|are)\b/,
    stated: /\b(?:is|am|['’]m|turned) (?:(?:an? )?\w+[ -]years?[ -]old|\d{1,3}(?: years? old| now)?[.!,]?$)/i,
    question: "how old is ann?",
    example: "Ann is 34 years old",
    counterexample: "Ann is fond of 34 paintings"
  }
]

/** Undefined: asks for no single value. `names`: stems of names in the question. */
export const slotAsked = (lower: string, names: ReadonlyArray<string>): string | undefined => {
  const form = slotForms.find(({ asked }) => asked.test(lower))
  if (form !== undefined) return form.slot
  const attribute = /^(?:so |and )?what(?:['’]s| is| are) (?:now )?([^?]{1,80}?)(?: now| currently)?\??$/.exec(
    lower
  )?.[1]
  return attribute === undefined ? undefined : attributeSlot(attribute, names)
}

/** The slot that a statement fills; undefined: none, it may be true beside all others. */
export const slotStated = (memory: Evidence, statement: MemoryStatement, text: string): string | undefined => {
  const { speaker, subject } = statement
  const about = tokenize(subject ?? "")
  if (memory.kind === "preference_memory") {
    return `preference ${tokenize(String(memory.data["preference"])).toSorted().join(" ")}`
  }
  if (memory.kind !== "factual_memory" && speaker === undefined) return undefined
  // Of a message only a plain statement of the speaker's own counts.
  const stated = speaker === undefined ? text : ownStatement(text)
  if (stated === undefined) return undefined
  const form = slotForms.find((row) => row.stated.test(stated))
  if (form !== undefined) return form.slot
  const attribute = ATTRIBUTE.exec(stated)?.[1]
  return attribute === undefined ? undefined : attributeSlot(attribute, about)
}

export const isOfPast = (text: string): boolean =>
  /\b(?:used to|no longer|formerly|previously|any ?more|in the past|until recently)\b/i.test(text)

const ownStatement = (text: string): string | undefined =>
  /(?:^|[.!?…,]\s+|\band )((?:i|my|we|our)\b['’]?[^.!?…]*)/iu.exec(text)?.[1]

/** "Alice's favourite colour is", "The wifi password is": what comes before the first "is". */
const ATTRIBUTE = /^(.{1,80}?) is (?:now )?/u

const attributeSlot = (attribute: string, names: ReadonlyArray<string>): string | undefined => {
  const words = tokenize(attribute.toLowerCase().replaceAll("our", "or")).filter(
    (word) => !names.includes(word) && !fillers.has(word)
  )
  return words.length === 0 || words.some((word) => several.has(word)) ? undefined : `is ${words.join(" ")}`
}

const fillers: ReadonlySet<string> = new Set(
  tokenize("the a an my our or user users current new s i now their his her of")
)
/** Attributes of which a person can have several, and words that name none. */
const several: ReadonlySet<string> = new Set(
  tokenize(
    "sister brother sibling son daughter child kid friend colleague cousin aunt uncle hobby goal pet dog cat neighbour neighbor one " +
      "name it that this there what which who you they he she i we"
  )
)

interface Valued {
  readonly memory: Evidence
  readonly statement: MemoryStatement
  readonly text: string
  /** How sure it is that the quote answers, 0..1. */
  readonly chance: number
}

/**
 * Of each slot and subject the newest value alone, with the greatest chance among all: the question has an answer, and this is
 * its present state. When the past is asked for, the values that were replaced or are told as past. Order kept.
 */
export const withNewestValues = <V extends Valued>(
  values: ReadonlyArray<V>,
  isPastAsked: boolean
): ReadonlyArray<V> => {
  const slots = values.map((value) => (value.chance > 0 ? slotOf(value) : undefined))
  return values.flatMap((value, at) => {
    const slot = slots[at]
    if (slot === undefined) return [value]
    const rivals = values.filter((_, other) => slots[other] === slot)
    const newest = Math.max(...rivals.filter(({ text }) => !isOfPast(text)).map(timeOf))
    const isCurrent = !isOfPast(value.text) && timeOf(value) === newest
    // "No longer drinks coffee" is the present state as long as nothing newer is.
    const isOnly = rivals.length === 1 && !isPastAsked
    if (isCurrent === isPastAsked && !isOnly) return []
    return [{ ...value, chance: Math.max(...rivals.map(({ chance }) => chance)) }]
  })
}

const slotOf = ({ memory, statement, text }: Valued): string | undefined => {
  const slot = slotStated(memory, statement, text)
  return slot && `${slot} of ${tokenize(statement.subject ?? "").join(" ")}`
}

/** A message counts from when it was said, anything else from when it was stored. */
const timeOf = ({ memory: { createdAt }, statement: { speaker } }: Valued): number =>
  speaker === undefined ? createdAt : Date.parse(speaker.saidOn ?? "") || createdAt

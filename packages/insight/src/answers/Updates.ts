/**
 * Updates among memories: where a person lives, what a password is, whether they still like tea. A slot holds one value
 * at a time, and the newest memory that fills it wins. Preferences for different things, relatives and events have no
 * slot: they accumulate.
 */
import { tokenize } from "@muniment/engine/text/Tokenizer"
import type { Passage } from "./Passage.ts"

/** The newest memory of each slot, order kept; with `isOfPast` the ones it replaced. */
export const withoutReplaced = <S extends { readonly passage: Passage }>(
  supports: ReadonlyArray<S>,
  isOfPast: boolean
): ReadonlyArray<S> => {
  const newest = new Map<string, number>()
  const oldest = new Map<string, number>()
  const slots = supports.map(({ passage }) => slotOf(passage))
  for (const [at, slot] of slots.entries()) {
    if (slot === undefined) continue
    const { createdAt } = supports[at]!.passage.memory
    newest.set(slot, Math.max(newest.get(slot) ?? createdAt, createdAt))
    oldest.set(slot, Math.min(oldest.get(slot) ?? createdAt, createdAt))
  }
  return supports.filter(({ passage }, at) => {
    const slot = slots[at]
    if (slot === undefined || newest.get(slot) === oldest.get(slot)) return true
    const isNewest = passage.memory.createdAt === newest.get(slot)
    return isOfPast ? !isNewest : isNewest
  })
}

/** Undefined: no slot; it may be true beside all others. */
const slotOf = (passage: Passage): string | undefined => {
  const { kind, data } = passage.memory
  const subject = [...passage.subject].join(" ")
  if (kind === "preference_memory") {
    return `preference ${subject} ${tokenize(String(data["preference"])).toSorted().join(" ")}`
  }
  if (kind !== "factual_memory") return undefined
  const { text } = passage.statement
  for (const [name, pattern] of verbs) if (pattern.test(text) && !passage.isOfPast) return `${name} ${subject}`
  const attribute = ATTRIBUTE.exec(text)?.[1]
  if (attribute === undefined) return undefined
  const words = tokenize(attribute).filter((word) => !passage.subject.has(word) && !articles.has(word))
  return words.length === 0 || words.some((word) => several.has(word)) ? undefined : `is ${subject} ${words.join(" ")}`
}

const verbs: ReadonlyArray<readonly [string, RegExp]> = [
  [
    "home",
    /\b(?:(?:now )?lives? (?:in|at|near|on)|living in|resides? in|(?:moved|relocated) (?:from [\p{L} ]+ )?to|is based in)\b/u
  ],
  ["workplace", /\b(?:works? (?:at|for)|is employed (?:at|by)|(?:new )?job at|joined|started (?:working )?at)\b/],
  ["occupation", /\bworks as\b/],
  ["car", /\bdrives\b/],
  ["age", /\bis \d{1,3}(?: years? old)?\b/],
  ["weight", /\bweighs\b/],
  ["school", /\b(?:studies|study) at\b/]
]

/** "Alice's favourite colour is", "The wifi password is": what comes before the first "is". */
const ATTRIBUTE = /^(.{1,80}?) is (?:now )?/u
const articles: ReadonlySet<string> = new Set(["the", "a", "an", "user", "current", "new", "s"])
/** Attributes of which a person can have several. */
const several: ReadonlySet<string> = new Set(
  tokenize(
    "sister brother sibling son daughter child kid friend colleague cousin aunt uncle hobby goal pet dog cat neighbour neighbor one of"
  )
)

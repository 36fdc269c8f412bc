/**
 * Slots: attributes that have one value at a time, such as a home, an employer, a password or whether someone still likes
 * tea. A statement of the slot that a question asks for is its answer, and of several values the one said last holds.
 *
 * Extracted memories carry their slot as `uniqueKey`, and the engine hides those that were replaced; this does the same
 * among statements that were stored directly and messages of one speaker. Preferences for different things, relatives
 * and events have no slot: they accumulate. Rows are data: the tests run their questions, examples and counterexamples.
 */
import { tokenize } from "../text/Tokenizer.ts"
import { noTrades, trades } from "../people/Trades.ts"
import { writtenOut } from "../speech/WrittenOut.ts"

interface SlotForm {
  readonly slot: string
  /** Name the attribute itself. */
  readonly nouns: string
  /** Verbs that end it, and no other slot: "I quit nursing" ends no home. */
  readonly ended?: RegExp
  /** Form of the question, in lower case. */
  readonly asked: RegExp
  /** Predicate of a statement, in the first or third person. */
  readonly predicate: string
  readonly question: string
  readonly example: string
  readonly counterexample: string
}

/** Words between a subject and its predicate that change neither. */
const ADVERBS = "(?: (?:now|just|currently|recently|still|also|already|finally|actually|have|has|used to))*"
const AM = `(?:am|is)${ADVERBS}`
const TRADE = `(?:${[...trades].join("|")}|(?!(?:${[...noTrades].join("|")})\\b)[\\p{L}-]{2,}(?:er|or|ist|ian|ant|eer|yst|wright))`

const LEAVES_WORK = /\b(?:quit(?! \p{Lu})|resign(?:ed)?|retired|got fired|was fired|laid off)\b/u

export const slotForms: ReadonlyArray<SlotForm> = [
  {
    slot: "home",
    nouns: "address home flat house apartment lease room",
    asked:
      /\bwhere (?:do|does|did|is|am) (?:\S+ ){1,3}?(?:live|living|based)\b(?! with)|\b(?:what|which) (?:city|town|country) (?:do|does|did) (?:\S+ ){1,3}?live\b/,
    predicate: `(?:lives?|${AM} living|${AM} based|resides?|moved|relocated)(?: from [\\p{L} ]+?)? (?:in|at|near|to) \\p{Lu}`,
    question: "where does ann live now?",
    example: "I moved from Oslo to Porto",
    counterexample: "I visited Claire, who lives in Lyon"
  },
  {
    slot: "origin",
    nouns: "origin",
    asked: /\bwhere (?:do|does|did|is|am|are|was|were) (?:\S+ ){1,3}?(?:(?:come |originally )*from|born)\b/,
    predicate: `(?:${AM} |was |comes? |came )(?:originally )?from \\p{Lu}|(?:was |were )?born (?:and raised )?(?:in|near) \\p{Lu}|grew up (?:in|near) \\p{Lu}`,
    question: "where is ann from?",
    example: "Ann is originally from Malta",
    counterexample: "Ann sold a bike to a guy from Kiel"
  },
  {
    slot: "workplace",
    nouns: "job employer workplace position notice contract retire retired redundant",
    ended: LEAVES_WORK,
    asked:
      /\bwhere (?:do|does|did) (?:\S+ ){1,3}?work\b|\bwho (?:do|does|did) (?:\S+ ){1,3}?work for\b|\b(?:employer|workplace)\b/,
    predicate: `(?:work(?:s|ed)?|${AM} employed|started(?: working)?) (?:at|for|by) \\p{L}|joined \\p{Lu}`,
    question: "where does ann work?",
    example: "Ann works at Toto",
    counterexample: "Ann works in the garden"
  },
  {
    slot: "occupation",
    nouns: "job profession occupation position career trade retire retired retrain retrained",
    ended: LEAVES_WORK,
    asked:
      /\bdo(?:es)? (?:\S+ ){1,3}?do(?: for (?:a living|work)\b|\?*$)|\b(?:make|earn) (?:a|\S+) living\b|\bwhat(?:'s| is) [^?]*\b(?:job|profession|occupation)\b/,
    predicate: `works? (?:[\\p{Ll}]+ )?as an? \\p{L}|${AM} an? (?:[\\p{L}-]+ ){0,2}?${TRADE}(?![\\p{L}-])`,
    question: "what does ann do for a living?",
    example: "Ann is a civil engineer",
    counterexample: "I work as hard as I can"
  },
  {
    slot: "car",
    nouns: "car",
    asked: /\bcar\b[^?]*\bdrive\b|\bwhat(?:'s| is) [^?]*\bcar\b/,
    predicate: "drives? an? \\p{L}",
    question: "what kind of car does ann drive?",
    example: "I drive a blue Subaru",
    counterexample: "My sister drives a van"
  },
  {
    slot: "age",
    nouns: "age",
    asked: /\bhow old (?:is|am|are)\b/,
    predicate: `(?:${AM}|turned) (?:(?:an? )?\\p{L}+[ -]years?[ -]old|\\d{1,3}(?: years? old| now)?(?:[.!,]|$| and\\b))`,
    question: "how old is ann?",
    example: "Ann is 34 years old",
    counterexample: "Ann is 34 minutes late"
  }
]

/** By slot: of somebody's own message, and of a stored statement that begins with its subject. */
const ownForms = slotForms.map(
  ({ predicate, slot }) => [slot, new RegExp(`(?<![\\p{L}])(?:I|[Ww]e)${ADVERBS} ?(?:${predicate})`, "u")] as const
)
const statedForms = slotForms.map(
  ({ predicate, slot }) => [slot, new RegExp(`^${ADVERBS} (?:${predicate})`, "u")] as const
)

/** Whether the text has a predicate of the slot, of any subject. */
export const hasSlotForm = (slot: string, text: string): boolean => predicates.get(slot)?.test(text) ?? false

const predicates = new Map(slotForms.map(({ predicate, slot }) => [slot, new RegExp(`\\b(?:${predicate})`, "u")]))

/** Stems of the nouns that name the attribute. */
export const slotNouns = (slot: string | undefined): ReadonlySet<string> => nounsBySlot.get(slot ?? "") ?? new Set()

const nounsBySlot = new Map(slotForms.map(({ nouns, slot }) => [slot, new Set(tokenize(nouns))]))

/** Whether the text ends a value by a verb that leaves this slot as it is. */
export const endsOtherSlot = (slot: string, text: string): boolean => {
  const ended = slotForms.filter((form) => form.ended?.test(text))
  return ended.length > 0 && ended.every((form) => form.slot !== slot)
}

/** Undefined: asks for no single value. `names`: stems of names in the question. */
export const slotAsked = (lower: string, names: ReadonlyArray<string>): string | undefined => {
  if (/^who am i\b/.test(lower)) return nameSlot
  const form = slotForms.find(({ asked }) => asked.test(lower))
  if (form !== undefined) return form.slot
  const attribute = ASKED_ATTRIBUTE.exec(lower)?.[1]
  return attribute === undefined ? undefined : attributeSlot(attribute, names)
}

const ASKED_ATTRIBUTE =
  /^(?:so |and )?(?:what|when|where|who)(?:['’]s| is| are) (?:now )?([^?]{1,80}?)(?: called| now| currently)?\??$/

interface StatedMemory {
  readonly kind: string
  readonly data: Readonly<Record<string, unknown>>
}

interface StatedBy {
  readonly subject: string | undefined
  /** Speaker of a message. */
  readonly speaker: object | undefined
}

/** The slot that a statement fills; undefined: none, it may be true beside all others. */
export const slotStated = (memory: StatedMemory, statement: StatedBy, text: string): string | undefined => {
  const { speaker, subject } = statement
  if (memory.kind === "preference_memory") {
    return `preference ${tokenize(String(memory.data["preference"])).toSorted().join(" ")}`
  }
  if (speaker !== undefined) {
    const written = writtenOut(text)
    const own = ownForms.find(([, form]) => form.test(written))?.[0]
    return own ?? attributeSlot(OWN_ATTRIBUTE.exec(text)?.[1] ?? "", [])
  }
  if (memory.kind !== "factual_memory") return undefined
  const named = ["The user", "I", ...(subject === undefined ? [] : [subject])].find((name) => text.startsWith(name))
  const stated =
    named === undefined ? undefined : statedForms.find(([, form]) => form.test(text.slice(named.length)))?.[0]
  return stated ?? attributeSlot(ATTRIBUTE.exec(text)?.[1] ?? "", tokenize(subject ?? ""))
}

interface StatedValue {
  readonly slot: string
  /** `home`, or as the statement has it: "favourite colour", "tea". */
  readonly attribute: string
  /** Stems of the value; of a preference whether it is a liking. */
  readonly value: ReadonlySet<string>
}

/** What a stored statement says that its slot holds; undefined: it fills none. */
export const valueStated = (memory: StatedMemory, statement: StatedBy, line: string): StatedValue | undefined => {
  // "Alice: is a nurse" is how a fact reads whose first word is no known verb.
  const text = line.replace(/^([^:]{1,80}): (?=\p{Ll})/u, "$1 ")
  const slot = slotStated(memory, statement, text)
  if (slot === undefined) return undefined
  if (memory.kind === "preference_memory") {
    const isDislike = /^(?:dislikes|avoids)$/.test(String(memory.data["preferenceType"]))
    const value = new Set([isDislike ? "dislike" : "liking"])
    return { slot, attribute: String(memory.data["preference"]), value }
  }
  const form = predicates.get(slot)
  const attribute = form === undefined ? ATTRIBUTE.exec(text) : undefined
  const found = form?.exec(text) ?? attribute
  if (found === undefined || found === null) return undefined
  // A predicate holds the value, or its first letter.
  const said = text.slice(form === undefined ? found[0].length : found.index).replace(MOVED_FROM, "")
  const value = new Set(tokenize(said.replace(PREDICATE_WORDS, "").replace(BESIDE_VALUE, "")))
  for (const unit of units) value.delete(unit)
  const name = attribute?.[1]?.replace(/^.*?['’]s (?=\S)/u, "").replace(/^(?:their|his|her|the|my) /i, "")
  return value.size === 0 ? undefined : { slot, attribute: name ?? slot, value }
}

const MOVED_FROM = /^.*?\bfrom [\p{L} ]+?(?= (?:to|in) )/u
/** What a predicate has before its value. */
const predicateWords =
  "live lives living based reside resides moved relocated work works worked working employed started joined drive drives " +
  "turned is am are was were have has now just currently recently still also already finally actually from to in at near " +
  "for by as a an the come comes came born raised grew up originally"
const PREDICATE_WORDS = new RegExp(`^(?: |(?:${predicateWords.replaceAll(" ", "|")})\\b)+`)
/** What is told beside a value. */
const BESIDE_VALUE =
  /(?:[,.;:(]| (?:with|since|because|but|where|who|which|as|near|for|until|when|while|and (?:is|has|her|his|their)) ).*$/u
const units = tokenize("year years old")

export const isOfPast = (text: string): boolean =>
  /\b(?:used to|no longer|formerly|previously|any ?more|in the past|until recently)\b/i.test(text)

/** "Alice's favourite colour is", "The wifi password is": what comes before the first "is". */
const ATTRIBUTE = /^(.{1,80}?) is (?:now )?/u
/** The same in a message: the speaker's own. */
const OWN_ATTRIBUTE = /(?:^|[.!?…,]\s+|\band )((?:[Mm]y|[Oo]ur) [\p{L}'’ -]{1,60}?) is (?:now )?/u

const nameSlot = "is name"

/** Words in their order of the alphabet: "the birthday of my mum" is "my mum's birthday". */
const attributeSlot = (attribute: string, names: ReadonlyArray<string>): string | undefined => {
  const all = tokenize(attribute.toLowerCase().replaceAll("our", "or")).filter(
    (word) => !names.includes(word) && !fillers.has(word)
  )
  // "The name of my coach" is who "my coach" is.
  const words = all.length > 1 ? all.filter((word) => word !== "name") : all
  return words.length === 0 || words.some((word) => several.has(word)) ? undefined : `is ${words.toSorted().join(" ")}`
}

const fillers: ReadonlySet<string> = new Set(
  tokenize("the a an my our or user users current new s i now their his her of full first")
)
/** Attributes of which a person can have several, and words that name none. */
const several: ReadonlySet<string> = new Set(
  tokenize(
    "sister brother sibling son daughter child kid friend colleague cousin aunt uncle hobby goal pet dog cat neighbour neighbor one " +
      "it that this there what which who you they he she we"
  )
)

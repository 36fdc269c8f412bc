/**
 * A sentence cut into clauses, each with one subject and its predicate: `My name is Alice and I live in
 * Seattle` is two, and `Anna, who lives in Rome, works as a nurse` as well. A clause with an unknown subject is left out; a
 * pronoun counts only if one person can be meant.
 */
import { adverbForms, afterthoughts, dependents, elidedVerbs, noNames, pastForms, verbForms } from "./lexicon/speech.ts"
import { oneOf } from "@muniment/language/text/OneOf"
import type { People, Person } from "./People.ts"
import { isPluralRelation, isRelation, qualityPattern } from "@muniment/language/people/Relations"
import { settings } from "@muniment/language/speech/speechWords"
import { rulesLimits } from "./RulesProtocol.ts"
import { textOf, type Word } from "./Words.ts"

export type Subject =
  /** `isShared`: said as `we`, of the speaker and others. */
  | { readonly type: "speaker"; readonly isShared?: boolean }
  | { readonly type: "person"; readonly person: Person }
  /** `my car`, `my sister's name`; the owner is undefined for the speaker. */
  | { readonly type: "attribute"; readonly owner: Person | undefined; readonly noun: string }

export interface Clause {
  readonly subject: Subject
  /** From the verb on, adverbs before the main verb left out. */
  readonly predicate: string
  readonly words: ReadonlyArray<Word>
  readonly tense: "past" | "present" | "future"
}

export interface ClauseSplit {
  readonly clauses: ReadonlyArray<Clause>
  readonly hasUnresolvedPronoun: boolean
}

export const clausesOf = (sentence: ReadonlyArray<Word>, people: People): ClauseSplit => {
  const words = subjectFirst(sentence, people)
  const clauses: Array<Clause> = []
  let hasUnresolvedPronoun = false
  let at = 0
  let subject: Subject | undefined
  while (at < words.length && clauses.length < rulesLimits.clausesPerSentenceMax) {
    const start = subjectAt(words, at, people) ?? (at === 0 ? elidedSpeaker(words) : undefined)
    hasUnresolvedPronoun ||= start === undefined && /^(?:he|she|they|it)$/.test(words[at]?.lower ?? "")
    if (start !== undefined) subject = start.subject
    const from = start?.next ?? at
    const { end, next } = clauseEnd(words, from, people)
    const isVerbal = start !== undefined || startsFinite(words[from], subject)
    if (subject !== undefined && isVerbal && from < end) clauses.push(...relativeAside(words.slice(from, end), subject))
    // Clauses that depend on an unknown subject do not belong to the previous one.
    if (!isVerbal) subject = undefined
    at = Math.max(next, at + 1)
  }
  return { clauses, hasUnresolvedPronoun }
}

const leadWordsMax = 7

/**
 * `Yesterday I quit` -> `I quit yesterday`; a scene (`When I was young, I ...`) goes behind as well. What says neither
 * when nor where (`Wow`, a name called) is left out.
 */
const subjectFirst = (words: ReadonlyArray<Word>, people: People): ReadonlyArray<Word> => {
  if (subjectAt(words, 0, people) !== undefined || elidedSpeaker(words) !== undefined) return words
  const isScene = /^(?:when|while|after|before|once|until|whenever|as|since)$/.test(words[0]?.lower ?? "")
  const from = isScene ? words.findIndex(({ after }) => after.includes(",")) + 1 : 0
  if (isScene && from === 0) return words
  const start = words.findIndex((word, at) => at >= from && isOwnStart(word) && startsClause(words, at, people))
  if (start <= 0 || start - from > leadWordsMax) return words
  // `the painting that I finished`: part of a noun.
  if (dependents.has(words[start - 1]?.lower ?? "")) return []
  // `The woman I met has an interview`: the speaker is in a relative clause.
  const noun = words.slice(from, start)
  if (!isScene && noun[0]?.lower === "the" && noun.at(-1)?.after.trim() === "" && !noun.some(isTime)) return []
  const lead = words.slice(isScene ? 0 : from, start).filter(({ lower }) => !adverbs.test(lower) && !joints.test(lower))
  // `last week my partner and I`: who else it was stays out.
  const isShared = words[start - 1]?.lower === "and"
  const isOther = isShared || lead.some((word) => isVerb(word) || isForeign(word))
  const isJoined = /[,;:-]/.test(words[start - 1]?.after ?? "") || joints.test(words[start - 1]?.lower ?? "")
  // `it reminds me of the times I had`: no clause of its own.
  if (!isScene && isOther && !isJoined) return []
  if (!isScene && (isOther || !(settings.has(lead[0]?.lower ?? "") || isBeside(lead)))) return words.slice(start)
  const { end } = clauseEnd(words, start + 1, people)
  return leadBehind(words, { start, end }, isScene ? lead.map(lowerCased) : lead.map(lowerCasedSetting))
}

/** The words from `start` on, with the lead put behind the clause that ends before `end`. */
const leadBehind = (
  words: ReadonlyArray<Word>,
  { end, start }: { readonly start: number; readonly end: number },
  lead: ReadonlyArray<Word>
): ReadonlyArray<Word> => {
  const closing = words[end - 1]?.after ?? " "
  const moved = lead.map((word, at) => ({
    ...word,
    after: at === lead.length - 1 ? closing : word.after.replace(",", "")
  }))
  const own = words.slice(start, end).map((word, at) => (at < end - start - 1 ? word : { ...word, after: " " }))
  return [...own, ...moved, ...words.slice(end)]
}

const lowerCased = (word: Word): Word => ({
  ...word,
  text: word.text.replace(/^(?!I$)./u, (letter) => letter.toLowerCase())
})

const lowerCasedSetting = (word: Word): Word => (settings.has(word.lower) ? lowerCased(word) : word)

const isForeign = ({ lower }: Word): boolean =>
  /^(?:that|who|which|he|she|they|it|this|thanks|me|you|your|not)$/.test(lower)

/** `the day after tomorrow`, `the next day`. */
const isBeside = (lead: ReadonlyArray<Word>): boolean =>
  lead[0]?.lower === "the" && lead.some(({ lower }) => /^(?:after|before|next|following)$/.test(lower))

const isTime = ({ lower, tags }: Word): boolean =>
  joints.test(lower) ||
  tags.has("Date") ||
  tags.has("Verb") ||
  /^(?:days?|nights?|mornings?|weeks?|weekend|months?|years?|summer|winter|time|after|before)$/.test(lower)

const isOwnStart = ({ lower, text }: Word): boolean => text === "I" || /^(?:we|my|our)$/.test(lower)

/** `Anna, who lives in Rome, works`: the aside and the rest are one clause each. */
const relativeAside = (words: ReadonlyArray<Word>, subject: Subject): ReadonlyArray<Clause> => {
  if (words[0]?.lower !== "who") return copulaList(words).map((part) => clauseOf(part, subject))
  const comma = words.findIndex(({ after }) => after.includes(","))
  // `who lives in Rome is a nurse`: the second verb is of the whole.
  const second = words.findIndex((word, at) => at > 2 && isVerb(word) && endsRelative(word))
  const close = second > 0 && (comma < 0 || second <= comma) ? second - 1 : comma
  const parts = close < 0 ? [words.slice(1)] : [words.slice(1, close + 1), words.slice(close + 1)]
  return parts.filter((part) => part.length > 0).map((part) => clauseOf(part, subject))
}

const endsRelative = ({ lower, tags }: Word): boolean =>
  /^(?:is|are|was|were|has|had|does|did|will|can)$/.test(lower) ||
  pastForms.has(lower) ||
  tags.has("PastTense") ||
  tags.has("PresentTense")

/** `am Hana, 29, a dentist from Brno`: three predicates of one verb. */
const copulaList = (words: ReadonlyArray<Word>): ReadonlyArray<ReadonlyArray<Word>> => {
  const verb = words[0]
  if (verb === undefined || !/^(?:am|is|are)$/.test(verb.lower) || words[1]?.lower.endsWith("ing") === true)
    return [words]
  const parts: Array<Array<Word>> = [[]]
  for (const [index, word] of words.entries()) {
    const isBreak =
      index > 1 &&
      /,\s*$/.test(words[index - 1]?.after ?? "") &&
      !words[index + 1]?.tags.has("Month") &&
      /^(?:an?|the|in|from|based|living|working|married|originally|currently|mother|father|mum|mom|dad|\d{1,3})$/.test(
        word.lower
      )
    if (isBreak) parts.push([verb])
    parts.at(-1)?.push(word)
  }
  return parts
}

const clauseOf = (words: ReadonlyArray<Word>, subject: Subject): Clause => {
  const plain = textOf(plainPredicate(words))
  const lowered = /^[A-Z][a-z]+ /.test(plain) ? plain.charAt(0).toLowerCase() + plain.slice(1) : plain
  const predicate = withCopula(lowered.replace(afterthought, ""), subject)
  const isFuture =
    /^(?:will|am going to|is going to|are going to|plan|plans|am planning|is planning|are planning)\b/i.test(predicate)
  const first = words.find(({ lower }) => !adverbs.test(lower))
  const isPast =
    (first?.tags.has("PastTense") === true && !/^(?:am|is|are|need|want)$/.test(first.lower)) ||
    pastForms.has(first?.lower ?? "") ||
    /^(?:have|has) (?!to\b|an?\b|the\b|my\b)\w+(?:ed|en)\b/.test(predicate)
  return { subject, predicate, words, tense: isFuture ? "future" : isPast ? "past" : "present" }
}

const afterthought = oneOf(afterthoughts, { before: "(?:,? ", after: ")+[!.]*$", flags: "i" })

/** `based in Rome` behind a comma leans on the verb before it. */
const withCopula = (predicate: string, subject: Subject): string => {
  const be = subject.type === "speaker" ? "am" : "is"
  if (/^(?:born)\b/i.test(predicate)) return `was ${predicate}`
  if (/^been\b/i.test(predicate)) return `${subject.type === "speaker" ? "have" : "has"} ${predicate}`
  const leans =
    /^(?:based|located|living|working|studying|training|learning|trying|allergic|(?:married|divorced|engaged|raised)(?= (?:to|with|and|by)\b|$))\b/i
  return leans.test(predicate) ? `${be} ${predicate}` : predicate
}

const adverbs = oneOf(adverbForms, { before: "^", after: "$" })

/** Adverbs before and right behind the verb say how, not what. */
const plainPredicate = (words: ReadonlyArray<Word>): ReadonlyArray<Word> =>
  words.filter(({ lower }, index) => {
    const isOnly = /^(?:an?|the)$/.test(words[index - 1]?.lower ?? "")
    return index > 3 || isOnly || !adverbs.test(lower) || (lower === "so" && index > 1)
  })

interface Found {
  readonly subject: Subject
  readonly next: number
}

const subjectAt = (words: ReadonlyArray<Word>, at: number, people: People): Found | undefined => {
  const word = words[at]
  if (word === undefined) return undefined
  if (word.text === "I") return { subject: { type: "speaker" }, next: at + 1 }
  if (word.lower === "we") return { subject: { type: "speaker", isShared: true }, next: at + 1 }
  if (word.lower === "my" || word.lower === "our") return ownedSubject(words, at + 1, people)
  if (/^(?:he|she|it)$/.test(word.lower)) {
    const person = people.meantBy(word.lower)
    const isNaming = /^(?:is|was) (?:called|named)$/.test(`${words[at + 1]?.lower} ${words[at + 2]?.lower}`)
    if (person === undefined || (word.lower === "it" && !isNaming)) return undefined
    return { subject: { type: "person", person }, next: at + 1 }
  }
  if (word.lower === "his" || word.lower === "her") {
    const owner = people.meantBy(word.lower === "his" ? "he" : "she")
    if (owner === undefined) meetNamed(words, at, people)
    return owner === undefined ? undefined : attributeSubject(words, at + 1, owner, people)
  }
  if (word.lower === "the" && isHousehold(words[at + 1], people)) return ownedSubject(words, at + 1, people)
  return namedSubject(words, at, people)
}

/** `Her name is Belén`, of somebody not named before: what follows may be of her. */
const meetNamed = (words: ReadonlyArray<Word>, at: number, people: People): void => {
  if (words[at + 1]?.lower !== "name" || words[at + 2]?.lower !== "is" || !isNameWord(words[at + 3])) return
  people.mention(people.meet(nameFrom(words, at + 3).text, undefined, words[at]?.lower === "his" ? "male" : "female"))
}

/** `the dog`: the speaker's. `the kids` only of a speaker with children, and `the children's ward` never. */
const isHousehold = (word: Word | undefined, people: People): boolean =>
  household.test(bare(word)) ||
  (offspring.test(word?.lower ?? "") &&
    ["kids", "children", "sons", "daughters", "son", "daughter", "baby", "twins"].some(
      (relation) => people.related(relation) !== undefined
    ))
const household = /^(?:dogs?|cats?|puppy|kitten|wife|husband|hamster|rabbit|tortoise|parrot)$/
const offspring = /^(?:kids|children|baby|twins)$/

/** Behind `my`: a relation with or without a name, or a thing. */
const ownedSubject = (words: ReadonlyArray<Word>, from: number, people: People): Found | undefined => {
  let at = from
  while (isQuality(words, at)) at++
  const head = words[at]
  if (head === undefined) return undefined
  const isOne = isRelation(bare(head))
  if (!isOne && !isPluralRelation(bare(head))) return attributeSubject(words, from, undefined, people)
  const relation = relationText(words.slice(from, at), bare(head))
  const isPossessive = /'s?$/.test(head.text)
  const hasName = isOne && !isPossessive && isNameWord(words[at + 1]) && !/[;:.]/.test(head.after)
  const name = hasName ? nameFrom(words, at + 1) : undefined
  const person = people.mention(people.meet(name?.text, relation, name?.gender))
  const next = name?.next ?? at + 1
  if (isPossessive || name?.isPossessive === true) return attributeSubject(words, next, person, people)
  // `my wife and I live`: what holds for both holds for the speaker.
  if (words[next]?.lower === "and" && words[next + 1]?.text === "I")
    return { subject: { type: "speaker" }, next: next + 2 }
  if (isVerb(words[next]) || words[next]?.lower === "who") return { subject: { type: "person", person }, next }
  // `my dentist appointment is`
  return hasName ? undefined : attributeSubject(words, from, undefined, people)
}

/** `golden` in `golden retriever`; `ex` alone is a relation of its own. */
const isQuality = (words: ReadonlyArray<Word>, at: number): boolean =>
  qualityPattern.test(words[at]?.lower ?? "") &&
  (!isRelation(bare(words[at])) || isRelation(bare(words[at + 1])) || isPluralRelation(bare(words[at + 1])))

/** Keeps what distinguishes two relatives (`younger`, `twin`), without praise. */
const relationText = (qualities: ReadonlyArray<Word>, head: string): string => {
  const kept = qualities.filter(({ lower }) => !/^(?:good|close|dear|current|little|big|old|new)$/.test(lower))
  return [...kept.map(({ lower }) => lower), head.toLowerCase()].join(" ")
}

const bare = (word: Word | undefined): string => (word?.lower ?? "").replace(/'s?$/, "")

const attributeWordsMax = 5

const attributeSubject = (
  words: ReadonlyArray<Word>,
  from: number,
  owner: Person | undefined,
  people: People
): Found | undefined => {
  const relative = words[from + 1]
  if (owner !== undefined && isRelation(bare(words[from])) && isNameWord(relative) && !/'s?$/.test(relative.text)) {
    const { gender, next, text } = nameFrom(words, from + 1)
    if (isVerb(words[next]))
      return { subject: { type: "person", person: people.mention(people.meet(text, undefined, gender)) }, next }
  }
  const limit = Math.min(words.length, from + attributeWordsMax + 1)
  for (let at = from + 1; at < limit; at++) {
    if (!isFiniteVerb(words[at])) continue
    return { subject: { type: "attribute", owner, noun: textOf(words.slice(from, at)) }, next: at }
  }
  return undefined
}

const namedSubject = (words: ReadonlyArray<Word>, at: number, people: People): Found | undefined => {
  if (!isNameWord(words[at])) return undefined
  const { gender, isPossessive, next, text } = nameFrom(words, at)
  const known = people.named(text)
  if (text === people.speakerName) {
    return isVerb(words[next]) ? { subject: { type: "speaker" }, next } : undefined
  }
  const isStranger = known === undefined && history.test(words[next]?.lower ?? "")
  if (isStranger || (known === undefined && !looksHuman(words, at, next))) return undefined
  if (words[next]?.lower === "and" && words[next + 1]?.text === "I") {
    people.mention(people.meet(text, undefined, gender))
    return { subject: { type: "speaker" }, next: next + 2 }
  }
  if (!isPossessive && !isVerb(words[next]) && words[next]?.lower !== "who") return undefined
  const person = people.mention(known ?? people.meet(text, undefined, gender))
  return isPossessive ? attributeSubject(words, next, person, people) : { subject: { type: "person", person }, next }
}

/** Tagged as a person, or unknown to the tagger and doing what only people do. */
const looksHuman = (words: ReadonlyArray<Word>, at: number, next: number): boolean => {
  const own = words.slice(at, next)
  if (own.some(({ tags }) => tags.has("Place") || tags.has("Organization") || tags.has("Country"))) return false
  if (own.some(({ tags }) => tags.has("Person"))) return true
  return own.every(({ tags }) => tags.has("ProperNoun") || tags.has("Singular")) && human.test(words[next]?.lower ?? "")
}

const human =
  /^(?:lives|works|loves|likes|hates|enjoys|prefers|studies|teaches|speaks|plays|moved|married|graduated|quit|arrives|visits|retired|drinks|eats|wants)$/

/** Encyclopaedic statements; about a person never mentioned before they are general knowledge. */
const history =
  /^(?:was|were|wrote|invented|discovered|painted|founded|won|ruled|conquered|composed|directed|starred|sang|built|became|died)$/

interface FoundName {
  readonly text: string
  readonly next: number
  readonly isPossessive: boolean
  readonly gender: "female" | "male" | undefined
}

const nameWordsMax = 3

const nameFrom = (words: ReadonlyArray<Word>, at: number): FoundName => {
  let next = at + 1
  while (
    next < at + nameWordsMax &&
    isNameWord(words[next]) &&
    !/[,;:'(]/.test((words[next - 1]?.after ?? "") + (words[next - 1]?.text ?? ""))
  )
    next++
  const own = words.slice(at, next)
  const isPossessive = /'s?$/.test(own.at(-1)?.text ?? "")
  const tags = own[0]?.tags
  const gender = tags?.has("FemaleName") === true ? "female" : tags?.has("MaleName") === true ? "male" : undefined
  const text = own.map((word) => word.text.replace(/'s?$/, "")).join(" ")
  return { text, next, isPossessive, gender }
}

const neverNames = oneOf(noNames, { before: "^", after: "$" })

const isNameWord = (word: Word | undefined): word is Word =>
  word !== undefined &&
  /^\p{Lu}[\p{L}'.-]*$/u.test(word.text) &&
  word.text !== "I" &&
  !word.tags.has("Month") &&
  !word.tags.has("WeekDay") &&
  !neverNames.test(word.lower)

const plainVerbs = oneOf(verbForms, { before: "^", after: "$" })

const isVerb = (word: Word | undefined): boolean =>
  word !== undefined && (plainVerbs.test(word.lower) || (word.tags.has("Verb") && !word.tags.has("Gerund")))

const isFiniteVerb = (word: Word | undefined): boolean =>
  isVerb(word) && (plainVerbs.test(word?.lower ?? "") || word?.tags.has("Infinitive") !== true)

/** Could `word` continue a clause of `subject` behind `and`? */
const startsFinite = (word: Word | undefined, subject: Subject | undefined): boolean =>
  word !== undefined &&
  subject !== undefined &&
  (plainVerbs.test(word.lower) ||
    (word.tags.has("Verb") && (word.tags.has("PastTense") || (subject.type !== "speaker" && word.lower.endsWith("s")))))

const elided = oneOf(elidedVerbs, {
  before: "^(?:just |recently |finally |also |currently |now )*",
  after: String.raw`\b`,
  flags: "i"
})

/** `Just moved to Berlin!`: a missing subject at the start of a sentence is the speaker. */
const elidedSpeaker = (words: ReadonlyArray<Word>): Found | undefined =>
  elided.test(
    words
      .slice(0, 4)
      .map(({ text }) => text)
      .join(" ")
  )
    ? { subject: { type: "speaker" }, next: 0 }
    : undefined

const joints = /^(?:and|but|so|because|cause|although|though|whereas|while|plus|yet|or)$/

/** Where the clause that starts at `from` ends, and where the next one starts. */
const clauseEnd = (
  words: ReadonlyArray<Word>,
  from: number,
  people: People
): { readonly end: number; readonly next: number } => {
  const isOpen = /^(?:to|can|will|would|could)$/
  let opensInfinitive = false
  for (let at = from + 1; at < words.length; at++) {
    const previous = words[at - 1]
    const word = words[at]
    if (word === undefined || previous === undefined) break
    opensInfinitive ||= isOpen.test(previous.lower)
    if (/[;:]|\s-\s*$/.test(previous.after) || /^-\s/.test(word.before)) return { end: at, next: at }
    const hasComma = previous.after.includes(",")
    if (/^(?:because|although|though|which|whereas)$/.test(word.lower) || (word.lower === "so" && hasComma))
      return { end: at, next: at + 1 }
    const isJoint = joints.test(word.lower)
    if (!isJoint && !hasComma) continue
    let next = isJoint ? at + 1 : at
    while (
      next < words.length - 1 &&
      /^(?:now|then|lately|recently|sometimes|currently|today)$/.test(words[next]?.lower ?? "") &&
      startsClause(words, next + 1, people)
    )
      next++
    if (word.lower === "who" && words[from]?.lower !== "who") continue
    if (startsClause(words, next, people)) return { end: at, next }
    const isAfterRelative = words[from]?.lower === "who" && hasComma && !isJoint
    if (word.lower === "and" || word.lower === "but" || (hasComma && !isAfterRelative)) {
      const verb = words[next]
      const isBare = verb?.tags.has("Infinitive") === true && !/^(?:am|have|want|need|prefer|quit)$/.test(verb.lower)
      if (continuesSubject(verb, isJoint ? word : undefined) && !(isBare && opensInfinitive)) return { end: at, next }
    }
  }
  return { end: words.length, next: words.length }
}

/** `art and love theme`, `sweets, like figs`: no verb. */
const continuesSubject = (word: Word | undefined, joint: Word | undefined): boolean =>
  word !== undefined &&
  !(/^(?:love|like|likes|need|want|plan|visit|use|run|drive|do)$/.test(word.lower) && joint?.lower !== "but") &&
  (plainVerbs.test(word.lower) || (word.tags.has("PastTense") && word.tags.has("Verb"))) &&
  !/^(?:just|also|now|really|always|still|do|used)$/.test(word.lower)

/** A subject with its verb begins at `at`. Decided by form only: the test must not register new people. */
const startsClause = (words: ReadonlyArray<Word>, at: number, people: People): boolean => {
  const word = words[at]
  if (word === undefined) return false
  if (word.text === "I" || /^(?:we|he|she|they|it)$/.test(word.lower)) {
    return isVerb(words[at + 1]) || (adverbs.test(words[at + 1]?.lower ?? "") && isVerb(words[at + 2]))
  }
  const isOwned = /^(?:my|our|his|her)$/.test(word.lower)
  if (isOwned) {
    const verb = words.findIndex(
      (candidate, index) => index > at + 1 && index <= at + attributeWordsMax && isFiniteVerb(candidate)
    )
    return verb > 0 && !words.slice(at + 1, verb).some(({ after, lower }) => after.includes(",") || joints.test(lower))
  }
  if (!isNameWord(word)) return false
  const { next, text } = nameFrom(words, at)
  const isPerson = people.named(text) !== undefined || looksHuman(words, at, next)
  return isPerson && isFiniteVerb(words[next])
}

/**
 * Rules for relations between people, and people and pets: `my sister Anna`, `I have a dog named Rex`, `I am married to
 * Tom`, `my boss is Ana`. The fact belongs to the speaker, the fields to the person.
 */
import { stopWords } from "@muniment/language/text/Language"
import { monthNames, weekdayNames } from "@muniment/language/calendar/CalendarWords"
import { noRelatives } from "./lexicon/speech.ts"
import { oneOf } from "@muniment/language/text/OneOf"
import { singleRelations } from "./lexicon/identity.ts"
import type { Finding, Scene } from "./Finding.ts"
import { entityOf } from "./Finding.ts"
import type { People, Person } from "./People.ts"
import { isPet, isPluralRelation, isRelation } from "@muniment/language/people/Relations"

const name = "((?:(?:Dr|Mrs?|Ms|Prof)\\.? )?\\p{Lu}(?:\\p{L}|[-'](?!s\\b))+(?: \\p{Lu}(?:\\p{L}|[-'](?!s\\b))+)?)"

/** People and pets of a whole sentence; its clauses are read separately. */
export const relationFindings = (text: string, people: People): ReadonlyArray<Finding> => {
  const findings: Array<Finding> = []
  const tell = (person: Person) => void findings.push(relationFinding(person, people))
  // Whose `the kids` are, later on.
  const own = ownChildren.exec(text)?.[1]
  if (own !== undefined) people.meet(undefined, own)
  for (const match of text.matchAll(introduced)) {
    const [, owner, qualities = "", relation = "", called = ""] = match
    if (!isRelation(relation) || owner === undefined || notNames.test(called)) continue
    // `my girlfriend, Toby and I`: a list.
    const rest = text.slice(match.index + match[0].length)
    if (match[0].includes(`${relation}, `) && /^ and I\b/.test(rest)) continue
    const person = people.meet(called, `${kept(qualities)}${relation.toLowerCase()}`)
    // `she is staying with my aunt Ines`: she is somebody else.
    tell(isMeantBefore(text, match.index) ? people.introduce(person) : people.mention(person))
  }
  for (const match of text.matchAll(namedRelation)) {
    const [, qualities = "", relation = "", called = ""] = match
    // `she has a dog called Rex`, `I know a lawyer, Mele`.
    if (!isRelation(relation) || !ownsBefore.test(beforeNoun(text, match))) continue
    tell(people.introduce(people.meet(called, `${kept(qualities)}${relation.toLowerCase()}`)))
  }
  for (const match of text.matchAll(turned)) {
    const [, called = "", qualities = "", relation = ""] = match
    if (!isRelation(relation) || notNames.test(called)) continue
    tell(people.mention(people.meet(called, `${kept(qualities)}${relation.toLowerCase()}`)))
  }
  for (const match of text.matchAll(namedSeveral)) {
    const [, relation = "", first = "", second = "", third] = match
    if (
      !isPluralRelation(relation) ||
      !(ownsBefore.test(text.slice(0, match.index)) || ownedBefore.test(text.slice(0, match.index)))
    )
      continue
    const single = singular(relation)
    for (const called of [first, second, third])
      if (called !== undefined && called !== "") tell(people.mention(people.meet(called, single)))
  }
  return findings
}

/** `could my brother Enzo drive?`: who it is holds in a question, a wish and a report as well. */
export const presupposed = (text: string, people: People): ReadonlyArray<Finding> =>
  [...text.matchAll(apposed)].flatMap(([, qualities = "", relation = "", called = ""]) =>
    isRelation(relation) && !notNames.test(called)
      ? [relationFinding(people.mention(people.meet(called, `${kept(qualities)}${relation.toLowerCase()}`)), people)]
      : []
  )

const NAMED =
  /(?:^|[,;] |\b(?:and|but|so|because) )(\p{Lu}[\p{L}'-]+) (?:is|was|has|had|will|\p{Ll}+(?:s|ed))\b|\ban? (?:\p{Ll}+ ){0,3}(\p{Ll}+), (\p{Lu}[\p{L}'-]+)(?: \p{Lu}[\p{L}'-]+)*(?=[,.]|$)/gu

/** `the joke about my mother`: whom `she` may mean from here on, though the sentence says nothing of her. */
export const mentionRelatives = (text: string, people: People): void => {
  for (const { 1: relation = "", index } of text.matchAll(/\b(?:my|our) ([a-z-]+)\b(?!')/gi)) {
    if (!isRelation(relation)) continue
    const person = people.related(relation) ?? people.meet(undefined, relation.toLowerCase())
    if (isMeantBefore(text, index)) people.introduce(person)
    else people.mention(person)
  }
  // "Fatou is", "a roofer, Piet Mertens": somebody whom no rule knows may be meant as well.
  for (const [, subject, noun = "", beside] of text.matchAll(NAMED)) {
    const name = subject ?? beside ?? ""
    const isKnown = isRelation(noun) || name === people.speakerName || people.named(name) !== undefined
    if (!isKnown && !stopWords.has(name.toLowerCase())) people.mentionStranger(name)
  }
}

/** Up to the article. */
const beforeNoun = (text: string, { 0: matched, index }: RegExpExecArray): string =>
  text.slice(0, index + (matched.startsWith("adopted") ? "adopted ".length : 0))

/** The speaker's, right in front of it. */
const ownsBefore =
  /\b(?:I|[Ww]e) (?:also |just |now |recently )?(?:have|got|adopted|own|have got|have had|have adopted|bought|rescued|foster) (?:[\w-]+ ){0,3}$/
const ownedBefore = /\b(?:[Mm]y|[Oo]ur) (?:[\w-]+ ){0,2}$/
/** A pronoun in front of the name is somebody else's. */
const isMeantBefore = (text: string, index: number): boolean => /\b(?:he|she)\b/i.test(text.slice(0, index))

const ownChildren = /\b(?:I|[Ww]e) have (?:\w+ )?(kids|children|twins|baby)\b/

const apposed = new RegExp(`\\b(?:[Mm]y|[Oo]ur) ((?:[a-z-]+ )?)([a-z-]+) ${name}`, "gu")

const introduced = new RegExp(
  `\\b(my|our|My|Our) ((?:[a-z-]+ )?)([a-z-]+),? (?:is (?:called |named )?|named |called )?${name}`,
  "gu"
)
const namedRelation = new RegExp(
  `\\b(?:an?|one|new|adopted|rescue) ((?:[\\w-]+ ){0,3})([a-z-]+)(?:,? (?:who is )?(?:called|named|by the name of|whose name is)|,) ${name}`,
  "gu"
)
const namedSeveral = new RegExp(
  `\\b([a-z]+),? (?:called |named |are |are called |are named )?${name}(?:, ${name})?,? and ${name}`,
  "gu"
)
const turned = new RegExp(
  `^${name},? (?:is|was|who is) (?:my|our) ((?:[a-z-]+ )?)([a-z-]+)(?=[,.!]| who\\b| and\\b|$)`,
  "gu"
)
const notNames = oneOf([...noRelatives, ...weekdayNames, ...monthNames.filter((name) => name !== "May")], {
  before: "^",
  after: String.raw`\b`
})

/** `younger sister` and `ex` tell people apart; `new`, `lovely` do not. */
const kept = (qualities: string): string =>
  /^(?:younger|older|elder|twin|best|ex|late|half|step|first|eldest|oldest|youngest) $/.test(qualities)
    ? qualities
    : /^[a-z]+ $/.test(qualities) && isPet(qualities.trim())
      ? qualities
      : ""

const singulars: Readonly<Record<string, string>> = { children: "child", kids: "kid", nieces: "niece" }
const singular = (relation: string): string => singulars[relation] ?? relation.replace(/s$/, "")

const relationFinding = (person: Person, people: People): Finding => {
  const scene: Pick<Scene, "people" | "clause"> = {
    people,
    clause: { subject: { type: "person", person }, predicate: "", words: [], tense: "present" }
  }
  return {
    rule: "relation",
    type: "fact",
    subject: people.speaker,
    text: `${people.speakerHead}'s ${person.relation} is called ${person.name}`,
    entity: entityOf({ ...scene, dates: [], isAsked: false }, {}),
    ...(singleRelations.has(person.relation ?? "") ? { attribute: person.relation ?? "" } : {})
  }
}

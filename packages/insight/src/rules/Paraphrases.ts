/**
 * Statements as people type them, rewritten into the forms that the rules read: a missing `I am`, an apposition in
 * front of its relation, a taste with the thing for its subject (lexicon/rewrites.ts). Rewriting adds no content: every
 * value of the result is in the text.
 */
import { isTrade } from "./FactRules.ts"
import { doingHeads, pastHeads, rewrites, stateHeads } from "./lexicon/rewrites.ts"
import { expanded } from "./Pattern.ts"
import { isPet, isRelation } from "./People.ts"
import { conjugated } from "./ThirdPerson.ts"

const rows = rewrites.map(({ becomes, says }) => ({ says: new RegExp(expanded(says), "u"), becomes }))
const name = "\\p{Lu}[\\p{L}'-]+(?: \\p{Lu}[\\p{L}'-]+){0,2}"
const headed = (heads: string): RegExp =>
  new RegExp(`^(?:${expanded("{soft}")} )*(?:${heads})(?![\\p{L}\\p{N}])(?! (?:you|I|he|she|it|they|we)\\b)`, "iu")
const pastHead = headed(pastHeads)
const doingHead = headed(doingHeads)
const stateHead = headed(stateHeads)

/** A statement without its first words, or in another order, as a whole sentence; most come back as they are. */
export const paraphrased = (text: string): string => {
  let result = withSpeaker(text)
  for (const { becomes, says } of rows) {
    // The capital of the first word is the sentence's.
    const form = says.test(result) ? result : lowered(result)
    if (says.test(form)) result = form.replace(says, becomes)
  }
  return ownTrade(shared(apposed(ownedIs(result))))
}

const withSpeaker = (text: string): string => {
  if (stateHead.test(text)) return `I am ${lowered(text)}`
  if (doingHead.test(text) && !/\b(?:is|are|was|were|makes?|helps?|can|will|would|has|feels?)\b/.test(text))
    return `I am ${lowered(text)}`
  return pastHead.test(text) ? `I ${lowered(text)}` : text
}

const lowered = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1)

const signature = new RegExp(
  `^(?:best|cheers|(?:best|kind|warm) (?:regards|wishes)|regards|yours(?: \\w+)?),? (${name})[.]?$`,
  "iu"
)

/** `Best, Priya` at the end of a message is the writer's name. */
export const signed = (sentence: string): string => sentence.replace(signature, "My name is $1")

const greeting = new RegExp(
  `^(?:hi|hello|hey|hiya|good (?:morning|afternoon|evening))[\\s,!.]+(?:there[\\s,!.]+)?(?:this is|it is) (?=${name}(?: (?:from|here|again|speaking)\\b|[.,!]|$))`,
  "iu"
)

/** `Hi, this is Maya` is a name; without the greeting it may be anything. */
export const greeted = (sentence: string): string =>
  sentence.replace(greeting, (lead, ...rest) => {
    const text: unknown = rest.at(-1)
    return typeof text === "string" && /^\p{Lu}/u.test(text.slice(lead.length)) ? "My name is " : lead
  })

/** `my wifes a pilot`: an apostrophe left out. */
const ownedIs = (text: string): string =>
  text.replace(
    /\b(my|our) ([a-z-]+?)'?s (?=(?:an?|the|from|in|allergic|not|called|married|vegan|vegetarian)\b)/gi,
    (whole, owner: string, noun: string) => (isRelation(noun) ? `${owner} ${noun} is ` : whole)
  )

const apposition = new RegExp(`^(${name}),? (?:who is )?(my|our|My|Our) ((?:[a-z]+ )?)([a-z-]+), (?=\\p{Ll})`, "u")
const contracted = new RegExp(`^(${name})'s (my|our) ((?:[a-z]+ )?)([a-z-]+)(?=[,.!]|$| who| and)`, "u")

/** `Tom, my husband, runs` -> `My husband Tom runs`; `Tom's my husband` -> `Tom is my husband`. */
const apposed = (text: string): string =>
  text
    .replace(contracted, (whole, called: string, owner: string, quality: string, relation: string) =>
      isRelation(relation) || isPet(relation) ? `${called} is ${owner} ${quality}${relation}` : whole
    )
    .replace(apposition, (whole, called: string, owner: string, quality: string, relation: string) =>
      (isRelation(relation) || isPet(relation)) && !called.endsWith("'s")
        ? `${owner.toLowerCase() === "my" ? "My" : "Our"} ${quality}${relation} ${called} `
        : whole
    )

const both = new RegExp(
  `^(${name}) and (${name}) (?:both )?(live|work|love|like|hate|enjoy|study|play|speak|have|are|teach|own) ([^,;]+)`,
  "u"
)

/** `Ana and Luis live in Bogotá` is true of each; being married or related is true of both together. */
const shared = (text: string): string =>
  text.replace(both, (whole, one: string, other: string, verb: string, rest: string) => {
    if (verb === "are" && /^(?:married|engaged|divorced|together|siblings|twins|my|our|getting)\b/.test(rest))
      return whole
    const told = conjugated(`${verb} ${rest}`.trim(), false)
    return `${one} ${told} and ${other} ${told}`
  })

/** `freelance illustrator here`, `as a beekeeper I am up early`. */
const ownTrade = (text: string): string => {
  const here = /^(?:[Aa]n? )?([A-Za-z][a-z-]*(?: [a-z-]+){0,2})(?: from [A-Z]\w+)? here[.!]?$/.exec(text)?.[1]
  const isNoun = here !== undefined && (/^[a-z]/.test(here) || here.includes(" "))
  if (isNoun && isTrade(here.toLowerCase())) return `I am ${article(here)} ${here.toLowerCase()}`
  const role = /^as (an?) ([a-z -]+?),? (?=I (?:am|work|have|do|get|often|usually)\b)/i.exec(text)
  if (role?.[2] === undefined || !isTrade(role[2])) return text
  return `I am ${role[1]} ${role[2]} and ${text.slice(role[0].length)}`
}

const article = (noun: string): string => (/^[aeiou]/i.test(noun) ? "an" : "a")

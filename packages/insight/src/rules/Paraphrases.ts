/**
 * Statements as people type them, rewritten into the forms that the rules read: a missing `I am`, an apposition in
 * front of its relation, a taste with the thing for its subject (lexicon/rewrites.ts). Rewriting adds no content: every
 * value of the result is in the text.
 */
import { doingHeads, pastHeads, rewrites, stateHeads } from "./lexicon/rewrites.ts"
import { expanded } from "./Pattern.ts"

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
  return result
}

const withSpeaker = (text: string): string => {
  if (stateHead.test(text)) return `I am ${lowered(text)}`
  if (doingHead.test(text) && !/\b(?:is|are|was|were|makes?|helps?|can|will|would|has|feels?)\b/.test(text))
    return `I am ${lowered(text)}`
  return pastHead.test(text) ? `I ${lowered(text)}` : text
}

const lowered = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1)

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

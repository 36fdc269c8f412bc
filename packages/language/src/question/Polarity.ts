/**
 * "Yes" or "No" before a quote, only where the asked statement itself stands there: a reply that begins with it, or one
 * asserted clause of the one asked about with the verb and every other word of the question, and nothing but function words
 * between its subject and them. Rows are data: the tests run them.
 */
import { oneOf, phrases } from "../text/OneOf.ts"
import { stopWords } from "../text/Language.ts"
import { tokenize } from "../text/Tokenizer.ts"
import { negatorsIn } from "../speech/Mood.ts"
import { writtenOut } from "../speech/WrittenOut.ts"
import type { Clause } from "../speech/Clause.ts"
import type { Question } from "./Question.ts"

/** `limited`: so or not so under a condition. */
export type Polarity = "Yes" | "No" | "limited"

/** `told`: the clauses about the one asked about. */
export const polarityOf = (
  question: Question,
  clauses: ReadonlyArray<Clause>,
  told: ReadonlyArray<Clause>
): Polarity | undefined => {
  if (question.part !== "yesNo") return undefined
  const others = question.topic.filter((term) => !question.subject.terms.includes(term))
  // "Is my sister vegan": without a tagger the last word may count among the subject's.
  const wanted = others.length > 0 ? others : question.topic.slice(1).slice(-1)
  const found = told.filter(
    ({ terms, text }) => wanted.length > 0 && wanted.every((term) => terms.has(term)) && hasVerb(question, text)
  )
  const [only] = found
  if (only === undefined || found.length > 1) return undefined
  const polarity = stated(only, new Set(wanted), new Set(tokenize(question.text)))
  const next = clauses[clauses.indexOf(only) + 1]
  const isConditional = next?.sentence === only.sentence && CONDITION.test(next.text)
  return polarity !== undefined && isConditional ? "limited" : polarity
}

const CONDITION = /^(?:unless|until|till|if|when|except|before|after|as long as)\b/i

const PRESENT = /\b(?:am|is|are|be)\b|['’](?:m|s|re)\b/i
const OWNS = /\b(?:have|has|had|got|own|owns|owned)\b|['’]ve\b/i

/** "Is Ann going back": the verb is "go". */
const ING = /^\s*(?:\p{L}+ ){0,2}?\p{L}+ing\b/u

/** The verb that is asked for, in the tense that is asked for. */
const hasVerb = ({ subject: { auxiliary, rest: asked, terms } }: Question, clause: string): boolean => {
  const rest = asked.replace(/^\s*going to /, "")
  if (/^(?:am|is|are)$/.test(auxiliary) && !ING.test(rest)) return PRESENT.test(clause)
  if (/^(?:was|were)$/.test(auxiliary)) return /\b(?:was|were)\b/i.test(clause)
  const words = rest
    .split(/[^\p{L}'’-]+/u)
    .filter((word) => word !== "" && !tokenize(word).some((stem) => terms.includes(stem)))
  const verb =
    words.find(
      (word) => !/^(?:still|also|ever|already|really|even|currently|now|often|usually|both|any|the|a|an)$/.test(word)
    ) ?? ""
  if (/^(?:have|had|own|got)$/.test(verb)) return OWNS.test(clause)
  const [stem] = tokenize(verb)
  const said = clause.split(/[^\p{L}'’-]+/u).find((word) => tokenize(word)[0] === stem)
  const isPast = said?.toLowerCase() !== verb && /ed$/i.test(said ?? "")
  return said !== undefined && !(/^(?:do|does)$/.test(auxiliary) && isPast)
}

/** Neither plainly so nor plainly not. */
const LIMITED =
  /\b(?:only|as much as|without|except|unless|until|till|instead|than|few|little|less|least|hardly|barely|scarcely|rarely|seldom|nobody|none|nothing|anything|everything|half|off|but|supposed|used)\b/i
const LIGHT =
  /^(?:also|really|still|always|actually|definitely|certainly|usually|both|currently|recently|already|often|at|all|any|more|anymore|though|yet|now|\p{L}+ly|neither|either)$/u

const stated = (
  { predicate, text }: Clause,
  wanted: ReadonlySet<string>,
  asked: ReadonlySet<string>
): Polarity | undefined => {
  const said = writtenOut(predicate).trim()
  const words = wordsOf(said)
  const isWanted = (word: string): boolean => tokenize(word).some((stem) => wanted.has(stem))
  const last = words.findLastIndex(isWanted)
  const gap = words.slice(0, last).filter((word) => !isWanted(word))
  if (last < 0 || LIMITED.test(said)) return undefined
  const verbs = gap.filter((word) => !stopWords.has(word.toLowerCase()) && !LIGHT.test(word.toLowerCase()))
  // "I refuse to fly", "sold the van": another verb than the one asked for.
  if (isOtherThing(words.slice(last + 1), asked)) return undefined
  if (verbs.some((word) => !isLinking(word) && !tokenize(word).every((stem) => asked.has(stem)))) return undefined
  // "Not after noon": the denial is of what stands behind.
  const isLimited = wordsOf(said.split(/[,;]/)[0]!)
    .slice(last + 1)
    .some((word) => !LIGHT.test(word.toLowerCase()) && !asked.has(tokenize(word)[0]!))
  const negators = negatorsIn(writtenOut(text))
  if (negators.length === 0) return "Yes"
  if (negators.length === 1 && isLimited) return "limited"
  return negators.length === 1 && gap.some((word) => /^(?:not|never|no|neither|cannot)$/i.test(word)) ? "No" : undefined
}
/** "Olive trees" are no olives. */
const isOtherThing = ([next = ""]: ReadonlyArray<string>, asked: ReadonlySet<string>): boolean =>
  next !== "" && !stopWords.has(next.toLowerCase()) && !MANNER.test(next) && !asked.has(tokenize(next)[0]!)
const MANNER = oneOf(
  phrases(String.raw`
    \d.* / \p{L}+ly / \p{Lu}.* / \p{L}+(?:ing|ed) / every / each / twice / once / since / during / before
    after / until / till / too / also / though / again / together / outside / inside / today / now / lots?
    anymore / either / because / but / and / so / unless / if / when / while / with / without / on / in / at
    for / from / to / by / as / only / still / instead / daily / home / abroad / last / next / well / yet / more
    much / enough
  `),
  { before: "^", after: "$", flags: "u" }
)

const wordsOf = (text: string): ReadonlyArray<string> => text.split(/[^\p{L}\p{N}-]+/u).filter((word) => word !== "")
const isLinking = (word: string): boolean => /^(?:never|cannot|neither)$/i.test(word)

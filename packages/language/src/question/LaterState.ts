/**
 * What two texts show, for a question about the present, of whether the newer one tells a later state of what the older one
 * says: what they share of the question, words of change, whose matter it is. Signs alone; how much each weighs is the
 * ranking's. In English.
 */
import { queryTerms } from "../text/Tokenizer.ts"
import {
  asksWho,
  changesAsked,
  lacksValue,
  otherPeople,
  readStatements,
  type Statement,
  wordsOf
} from "./AskedMatter.ts"

export interface LaterSigns {
  /** Share of the question's words that the older one alone has. */
  readonly lost: number
  /** Of the words that the older one shares with the question the newer one has some, not all: another thing of the kind. */
  readonly isPartly: boolean
  /** Share of its statements that tell a change. */
  readonly changes: number
  /** It speaks of another person's state or of what is not so. */
  readonly isNotSo: boolean
  /** It begins with something of the speaker's that neither the question nor the older one names: "my hairdresser". */
  readonly isOfOtherThing: boolean
  /** The older one has what the question asks for, and the newer no other. */
  readonly lacksValue: boolean
}

/** Each text is read once for all pairs that it is in. */
export interface LaterReader {
  /** Whether the newer one may change what is asked of the older one. */
  readonly mayChange: (older: string, newer: string) => boolean
  readonly signsOf: (older: string, newer: string) => LaterSigns
}

export const laterReader = (question: string): LaterReader => {
  const asked = new Set(queryTerms(question))
  const known = new Map<string, Reading>()
  const readingOf = (text: string): Reading => {
    const one = known.get(text) ?? read(question, text)
    known.set(text, one)
    return one
  }
  return {
    mayChange: (older, newer) => readingOf(older).mayChange(readingOf(newer).statements),
    signsOf: (older, newer) => {
      const before = readingOf(older)
      const { statements, terms, thing } = readingOf(newer)
      const topic = asked.intersection(before.terms)
      const lost = topic.difference(terms)
      const changes = statements.filter((one) => one.tellsChange)
      const isOther = ({ text }: Statement): boolean =>
        isNotSo(question, older, text) || (before.isOfSelf && isOfThird(question, older, text))
      return {
        lost: lost.size / Math.max(1, asked.size),
        isPartly: lost.size > 0 && lost.size < topic.size,
        changes: changes.length / statements.length,
        isNotSo: (changes.length > 0 ? changes : statements).every(isOther),
        isOfOtherThing: thing.size > 0 && thing.isDisjointFrom(asked.union(before.terms)),
        lacksValue: lacksValue(question, older, newer)
      }
    }
  }
}

const read = (question: string, text: string) => ({
  terms: new Set(queryTerms(text)),
  statements: readStatements(text),
  isOfSelf: ofSelf.test(text),
  /** Words of something of the speaker's that it begins with. */
  thing: wordsOf(ownThing.exec(text)?.[1] ?? ""),
  mayChange: changesAsked(question, text)
})

type Reading = ReturnType<typeof read>

const ownThing =
  /(?:^|[.!?] )(?:my|our) ((?:(?!(?:is|was|has|had|went|and|of|in|on|at|to|got|wants?|says?)\b)[\w'-]+ ?){1,3})/i
const unreal =
  /\b(?:if|would|could|might|maybe|perhaps|one day|i'd|we'd|used to|last (?:year|month)|thinking (?:of|about)|thought (?:of|about)|considered|decided against|wanted to|wish)\b/i
const ofSelf = /\b(?:i|im|ive|my|me|mine|we|our|us)\b/i
const ofThird = /\b(?:he|she|his|her|him)\b/i
const subjectOf = /(?:^|[.!?] )(?:my|our|his|her|their) (?:\w+ )?(\w+)/i

/** Of a third person, where the question has none. */
const isOfThird = (question: string, older: string, statement: string): boolean =>
  ofThird.test(statement) &&
  !ofThird.test(question) &&
  (!ofSelf.test(statement) || namesOther(`${question} ${older}`, statement))

/** Whether it speaks of a person, by what they are to somebody, of whom `known` does not. */
const namesOther = (known: string, text: string): boolean =>
  text
    .matchAll(otherPeople)
    .some(([, person]) => !known.toLowerCase().includes(person!.toLowerCase().replace(/s$/, "")))

/** A wish, a plan or the past, or the state of another person. */
const isNotSo = (question: string, older: string, statement: string): boolean =>
  unreal.test(statement) ||
  (!asksWho(question) && namesOther(`${question} ${older}`, subjectOf.exec(statement)?.[0] ?? ""))

/**
 * Decides whether a text speaks of somebody or something else than a question, or of what is not so. Read by rules, in
 * English.
 */
import { asksWho, otherPeople } from "./AskedValue.ts"
import { queryTerms } from "../text/Tokenizer.ts"

const ownSubject = /(?:^|[.!?] )(?:my|our) (\w+)/i

/** About somebody, or something of the speaker, that neither the question nor the older text names. */
export const isOfOther = (question: string, older: string, text: string): boolean => {
  const known = `${question} ${older}`.toLowerCase()
  const subject = ownSubject.exec(text)?.[1]
  if (subject !== undefined) {
    const terms = new Set(queryTerms(known))
    if (!queryTerms(subject).some((term) => terms.has(term))) return true
  }
  if (asksWho(question)) return false
  return namesOthers(text, known)
}

/** `known`: in lower case. */
const namesOthers = (text: string, known: string): boolean =>
  text.matchAll(otherPeople).some(([, person]) => !known.includes(person!.toLowerCase().replace(/s$/, "")))

const unreal =
  /\b(?:if|would|could|might|maybe|perhaps|one day|i'd|we'd|used to|last (?:year|month)|thinking of|i wish (?:i|we|they|he|she))\b/i
const asksSelf = /\b(?:do|am|are|have|should|will|can) (?:i|we)\b/i
const ofThird = /\b(?:he|she)(?:'s|'ll| (?:is|was|has|had|started|took|gets|got|left|goes|went|works|lives|pays))\b/i
const forOther = /\b(?:for|with) (?:her|him|them)\b|\b(?:hers|theirs)\b/i
const subjectOf = /(?:^|[.!?] )(?:my|our|his|her|their) (?:\w+ )?(\w+)/i
const partOfDay = /\b(?:morning|noon|afternoon|evening|night|breakfast|lunch|dinner)\b/i

/** A wish, a plan or the past, or the state of another person or part of the day. */
export const isNotSo = (question: string, older: string, text: string): boolean => {
  const said = text.replaceAll("\u2019", "'")
  if (unreal.test(said) || forOther.test(said)) return true
  if (asksSelf.test(question) && ofThird.test(said)) return true
  const known = `${question} ${older}`.toLowerCase()
  const part = partOfDay.exec(question)?.[0]
  if (part !== undefined && partOfDay.test(said) && !said.toLowerCase().includes(part.toLowerCase())) return true
  const owner = subjectOf.exec(said)?.[0]
  return owner !== undefined && !asksWho(question) && namesOthers(owner, known)
}

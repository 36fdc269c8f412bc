/** Common facts of the hits of one question: people, relevances, rarity of words, and whether one person talks alone. */
import { type Identities, readIdentities } from "./Identities.ts"
import type { Speaker } from "./MemoryStatement.ts"
import type { Quote } from "./Quote.ts"

export interface HitList {
  readonly identities: Identities
  /** Some of them are messages. */
  readonly isOfChat: boolean
  /** One person talks to an assistant: what the person says is about the asker. */
  readonly isAlone: boolean
  /** Of the last one of the first `COMPARED_HITS`. */
  readonly lastRelevance: number
  /** Weight of a word by its rarity among the hits. */
  readonly weightOf: (term: string) => number
}

/** Hits that may be quoted, and that a hit is compared with; later ones only show what has changed since. */
export const COMPARED_HITS = 20

/** Of a hit that a short list does not have. */
const BACKGROUND_RELEVANCE = 0.02

/** `asked`: the question. */
export const hitListOf = (all: ReadonlyArray<Quote>, asked: string): HitList => {
  const quotes = all.slice(0, COMPARED_HITS)
  const relevances = quotes.map(({ memory }) => memory.relevance)
  const background = quotes.length < COMPARED_HITS ? BACKGROUND_RELEVANCE : 1
  return {
    identities: readIdentities(
      quotes.map(({ statement }) => statement),
      asked
    ),
    isOfChat: quotes.some(({ statement }) => statement.speaker !== undefined),
    isAlone: isAlone(quotes),
    lastRelevance: Math.min(background, ...relevances),
    weightOf: (term) => {
      const holders = quotes.filter(({ terms }) => terms.has(term)).length
      return Math.log(1 + (quotes.length + 1) / (holders + 1))
    }
  }
}

const isAlone = (quotes: ReadonlyArray<Quote>): boolean => {
  const speakers = quotes.flatMap(({ statement }) => statement.speaker ?? [])
  const people = new Set(speakers.filter((speaker) => !isAssistant(speaker)).map(({ name }) => name))
  return speakers.length > 0 && people.size <= 1 && (people.has(undefined) || speakers.some(isAssistant))
}

export const isAssistant = ({ role }: Speaker): boolean => role !== "user" && role !== "human"

/**
 * Names of clusters: the terms that are frequent in a cluster and rare outside it (class-based
 * tf-idf: M. Grootendorst, "BERTopic", 2022), counted by stems and shown as they were written.
 *
 * Invariants: a topic is never empty, and no two clusters of one map have the same.
 */
import { stopWords } from "@muniment/language/text/Language"
import { tokenize } from "@muniment/language/text/Tokenizer"
import { compare, type MapNode } from "./MapProtocol.ts"

export interface Topic {
  readonly topic: string
  /** At least one, most distinctive first. */
  readonly terms: ReadonlyArray<string>
}

export const otherTopic = "Other"

const termsPerTopicMax = 3
/** Score of a further term, divided by that of the first, from which it is named. */
const furtherTermMin = 0.4
/** A pair of words that recurs is more specific than either word; one that occurs once is chance. */
const pairBonus = 1.6
const nameBonus = 1.2
/** A term of a single memory rarely describes the others. */
const singleMemoryFactor = 0.25
const termLengthMax = 40

/** `members` are rows of `nodes`; `closenessOf[row]` (0..1) says how typical a node is of its cluster. */
export const topicsOf = (
  nodes: ReadonlyArray<MapNode>,
  members: ReadonlyArray<ReadonlyArray<number>>,
  closenessOf: Float64Array
): ReadonlyArray<Topic> => {
  const termsOf = readTerms(nodes)
  const memoriesOf = new Map<string, number>()
  for (const terms of termsOf) for (const key of terms.keys()) memoriesOf.set(key, (memoriesOf.get(key) ?? 0) + 1)
  const taken = new Set([otherTopic.toLowerCase()])
  return members.map((rows) => {
    const candidates = rankTerms(rows, termsOf, memoriesOf, closenessOf, nodes.length / members.length)
    const surfaceOf = (key: string): string =>
      mostFrequent(rows.flatMap((row) => termsOf[row]!.get(key)?.surface ?? []))
    return nameCluster(candidates, surfaceOf, kindWords(nodes[rows[0]!]!.kind), taken)
  })
}

interface Occurrence {
  readonly surface: string
  readonly isName: boolean
}

/** By stem, or by two stems for a pair. */
type Terms = ReadonlyMap<string, Occurrence>

interface Candidate {
  readonly key: string
  readonly score: number
}

const rankTerms = (
  rows: ReadonlyArray<number>,
  termsOf: ReadonlyArray<Terms>,
  memoriesOf: ReadonlyMap<string, number>,
  closenessOf: Float64Array,
  memoriesPerCluster: number
): ReadonlyArray<Candidate> => {
  const found = new Map<string, { weight: number; memories: number; names: number }>()
  for (const row of rows) {
    for (const [key, { isName }] of termsOf[row]!) {
      let entry = found.get(key)
      if (entry === undefined) {
        entry = { weight: 0, memories: 0, names: 0 }
        found.set(key, entry)
      }
      entry.weight += 0.5 + Math.max(0, closenessOf[row]!)
      entry.memories += 1
      if (isName) entry.names += 1
    }
  }
  const candidates = [...found].map(([key, { weight, memories, names }]): Candidate => {
    const everywhere = memoriesOf.get(key) ?? memories
    let score = weight * Math.log(1 + memoriesPerCluster / everywhere) * (memories / everywhere)
    if (memories === 1) score *= singleMemoryFactor
    else if (key.includes(" ")) score *= pairBonus
    if (names * 2 > memories) score *= nameBonus
    return { key, score }
  })
  return candidates.sort((left, right) => right.score - left.score || compare(left.key, right.key))
}

const nameCluster = (
  candidates: ReadonlyArray<Candidate>,
  surfaceOf: (key: string) => string,
  fallback: string,
  taken: Set<string>
): Topic => {
  const chosen: Array<Candidate> = []
  const stems = new Set<string>()
  for (const candidate of candidates) {
    if (chosen.length === termsPerTopicMax) break
    if (chosen.length > 0 && candidate.score < furtherTermMin * chosen[0]!.score) break
    const own = candidate.key.split(" ")
    if (own.some((stem) => stems.has(stem))) continue
    chosen.push(candidate)
    for (const stem of own) stems.add(stem)
  }
  const terms = chosen.length > 0 ? chosen.map(({ key }) => surfaceOf(key)) : [fallback]
  let topic = terms.join(", ")
  // Clusters come in order of size: of two with the same name the smaller one gets the number.
  for (let number = 2; taken.has(topic.toLowerCase()); number++) topic = `${terms.join(", ")} (${number})`
  taken.add(topic.toLowerCase())
  return { topic, terms }
}

const wordRun = /[\p{L}\p{N}\p{M}]+(?:['\u2019][\p{L}]+)?/gu
const telling = /\p{L}/u
const asciiShort = /^[a-z]{1,2}$/i
const capitalised = /^\p{Lu}/u

/** A word, independent of its position. */
interface Word {
  readonly stem: string
  readonly surface: string
  readonly isTelling: boolean
  readonly isCapitalised: boolean
}

const readTerms = (nodes: ReadonlyArray<MapNode>): ReadonlyArray<Terms> => {
  const known = new Map<string, ReadonlyArray<Word>>()
  const knownWords = (run: string): ReadonlyArray<Word> => {
    const words = known.get(run) ?? wordsOf(run)
    known.set(run, words)
    return words
  }
  return nodes.map(({ subject, wordParts }) => {
    const terms = new Map<string, Occurrence>()
    readPart(subject, knownWords, terms, true)
    for (const part of wordParts) readPart(part, knownWords, terms, false)
    return terms
  })
}

const wordsOf = (run: string): ReadonlyArray<Word> => {
  const stems = tokenize(run)
  return stems.map((stem) => {
    // A run of several tokens is a script without spaces: each token is a word.
    const surface = (stems.length === 1 ? run.replace(/['\u2019].*$/u, "") : stem).slice(0, termLengthMax)
    return { stem, surface, isTelling: isTelling(stem, surface), isCapitalised: capitalised.test(surface) }
  })
}

const readPart = (
  part: string,
  knownWords: (run: string) => ReadonlyArray<Word>,
  terms: Map<string, Occurrence>,
  isSubject: boolean
): void => {
  let previous: Word | undefined
  let previousEnd = 0
  for (const { 0: run, index } of part.matchAll(wordRun)) {
    for (const word of knownWords(run)) {
      const { stem, surface } = word
      const isName = word.isCapitalised && (isSubject || index > 0)
      if (word.isTelling && !terms.has(stem))
        terms.set(stem, { surface: index > 0 || isSubject ? surface : uncapitalised(surface), isName })
      if (word.isTelling && previous !== undefined && isJoint(part, previousEnd, index)) {
        const pair = `${previous.stem} ${stem}`
        if (!terms.has(pair)) terms.set(pair, { surface: `${previous.surface} ${surface}`, isName })
      }
      previous = word.isTelling ? word : undefined
      previousEnd = index + run.length
    }
  }
}

/** Whether one space or one hyphen lies between two words. */
const isJoint = (part: string, from: number, to: number): boolean =>
  to - from === 1 && (part[from] === " " || part[from] === "-")

const isTelling = (stem: string, surface: string): boolean =>
  telling.test(stem) && !stopWords.has(stem) && !stopWords.has(surface.toLowerCase()) && !asciiShort.test(surface)

/** The first word of a text is capitalised without being a name; `USB` stays as it is. */
const uncapitalised = (surface: string): string => (/^\p{Lu}\p{Ll}*$/u.test(surface) ? surface.toLowerCase() : surface)

const mostFrequent = (surfaces: ReadonlyArray<string>): string =>
  [...Map.groupBy(surfaces, (surface) => surface)]
    .map(([surface, { length }]) => [surface, length] as const)
    .sort((left, right) => right[1] - left[1] || compare(left[0], right[0]))[0]![0]

/** `factual_memory` as `factual memory`. */
const kindWords = (kind: string): string => [...kind.matchAll(wordRun)].map(([run]) => run).join(" ") || "memories"

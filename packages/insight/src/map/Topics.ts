/**
 * Names of clusters: the terms that are frequent in a cluster and rare outside it (class-based
 * tf-idf: M. Grootendorst, "BERTopic", 2022), counted by stems, shown as people wrote them.
 *
 * Invariants: a topic is never empty, and no two clusters of one map have the same.
 */
import { stopWords } from "@muniment/engine/recall/StopWords"
import { tokenize } from "@muniment/engine/recall/Tokenizer"
import { compare, type MapNode } from "./MapNodes.ts"

export interface Topic {
  readonly topic: string
  /** One to three, most distinctive first. */
  readonly terms: ReadonlyArray<string>
}

export const otherTopic = "Other"

const termsPerTopicMax = 3
/** A further term is named when it is at least this distinctive, against the first. */
const furtherTermMin = 0.4
/** A pair of words that recurs says more than either; one that occurs once is chance. */
const pairBonus = 1.6
const nameBonus = 1.2
/** A term of one memory alone seldom names the others. */
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
    return nameCluster(candidates, kindWords(nodes[rows[0]!]!.kind), taken)
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
  readonly surface: string
  readonly score: number
}

const rankTerms = (
  rows: ReadonlyArray<number>,
  termsOf: ReadonlyArray<Terms>,
  memoriesOf: ReadonlyMap<string, number>,
  closenessOf: Float64Array,
  memoriesPerCluster: number
): ReadonlyArray<Candidate> => {
  const found = new Map<string, { weight: number; memories: number; names: number; surfaces: Map<string, number> }>()
  for (const row of rows) {
    for (const [key, { surface, isName }] of termsOf[row]!) {
      const entry = found.get(key) ?? { weight: 0, memories: 0, names: 0, surfaces: new Map<string, number>() }
      entry.weight += 0.5 + Math.max(0, closenessOf[row]!)
      entry.memories += 1
      if (isName) entry.names += 1
      entry.surfaces.set(surface, (entry.surfaces.get(surface) ?? 0) + 1)
      found.set(key, entry)
    }
  }
  const candidates = [...found].map(([key, { weight, memories, names, surfaces }]): Candidate => {
    const everywhere = memoriesOf.get(key) ?? memories
    let score = weight * Math.log(1 + memoriesPerCluster / everywhere) * (memories / everywhere)
    if (memories === 1) score *= singleMemoryFactor
    else if (key.includes(" ")) score *= pairBonus
    if (names * 2 > memories) score *= nameBonus
    return { key, surface: mostFrequent(surfaces), score }
  })
  return candidates.sort((left, right) => right.score - left.score || compare(left.key, right.key))
}

const nameCluster = (candidates: ReadonlyArray<Candidate>, fallback: string, taken: Set<string>): Topic => {
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
  const terms = chosen.length > 0 ? chosen.map(({ surface }) => surface) : [fallback]
  let topic = terms.join(", ")
  // Clusters come in order of size, so a later one of the same name gets the number.
  for (let number = 2; taken.has(topic.toLowerCase()); number++) topic = `${terms.join(", ")} (${number})`
  taken.add(topic.toLowerCase())
  return { topic, terms }
}

const wordRun = /[\p{L}\p{N}\p{M}]+(?:['\u2019][\p{L}]+)?/gu
const telling = /\p{L}/u
const asciiShort = /^[a-z]{1,2}$/i
const capitalised = /^\p{Lu}/u

const readTerms = (nodes: ReadonlyArray<MapNode>): ReadonlyArray<Terms> => {
  const stemsOf = new Map<string, ReadonlyArray<string>>()
  const stemsOfRun = (run: string): ReadonlyArray<string> => {
    const known = stemsOf.get(run)
    if (known !== undefined) return known
    const stems = tokenize(run)
    stemsOf.set(run, stems)
    return stems
  }
  return nodes.map(({ subject, wordParts }) => {
    const terms = new Map<string, Occurrence>()
    readPart(subject, stemsOfRun, terms, true)
    for (const part of wordParts) readPart(part, stemsOfRun, terms, false)
    return terms
  })
}

const readPart = (
  part: string,
  stemsOfRun: (run: string) => ReadonlyArray<string>,
  terms: Map<string, Occurrence>,
  isSubject: boolean
): void => {
  let previous: { readonly stem: string; readonly surface: string; readonly end: number } | undefined
  for (const { 0: run, index } of part.matchAll(wordRun)) {
    const stems = stemsOfRun(run)
    for (const stem of stems) {
      // A run of several tokens is written without spaces: its tokens are its words.
      const surface = (stems.length === 1 ? run.replace(/['\u2019].*$/u, "") : stem).slice(0, termLengthMax)
      if (!isTelling(stem, surface)) {
        previous = undefined
        continue
      }
      const isName = capitalised.test(surface) && (isSubject || index > 0)
      if (!terms.has(stem))
        terms.set(stem, { surface: index > 0 || isSubject ? surface : uncapitalised(surface), isName })
      const isAdjacent = previous !== undefined && /^[ -]$/.test(part.slice(previous.end, index))
      if (previous !== undefined && isAdjacent && !terms.has(`${previous.stem} ${stem}`)) {
        terms.set(`${previous.stem} ${stem}`, { surface: `${previous.surface} ${surface}`, isName })
      }
      previous = { stem, surface, end: index + run.length }
    }
  }
}

const isTelling = (stem: string, surface: string): boolean =>
  telling.test(stem) && !stopWords.has(stem) && !stopWords.has(surface.toLowerCase()) && !asciiShort.test(surface)

/** The first word of a text is capitalised whatever it is; `USB` is not. */
const uncapitalised = (surface: string): string => (/^\p{Lu}\p{Ll}*$/u.test(surface) ? surface.toLowerCase() : surface)

const mostFrequent = (surfaces: ReadonlyMap<string, number>): string =>
  [...surfaces].sort((left, right) => right[1] - left[1] || compare(left[0], right[0]))[0]![0]

/** `factual_memory` as `factual memory`. */
const kindWords = (kind: string): string => [...kind.matchAll(wordRun)].map(([run]) => run).join(" ") || "memories"

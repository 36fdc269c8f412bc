/**
 * Candidate passages of an extractive answer: a memory's statement, or one sentence of a long one, with its stems and its
 * subject. Also resolves identities: the asker's names, and "sister" for Anna if a memory says so.
 */
import { stopWords } from "@muniment/engine/text/StopWords"
import { tokenize } from "@muniment/engine/text/Tokenizer"
import type { Evidence } from "./WrittenAnswer.ts"
import { isUser, type MemoryStatement, readStatement } from "./MemoryStatement.ts"

export interface Passage {
  readonly memory: Evidence
  readonly statement: MemoryStatement
  /** Stems of the text and of the words that match a question. */
  readonly terms: ReadonlySet<string>
  /** Stems of the subject; empty if the memory names none. */
  readonly subject: ReadonlySet<string>
  /** About the past, no longer true. */
  readonly isOfPast: boolean
}

/** Longer statements are split into sentences. */
const PASSAGE_LENGTH_MAX = 300
const SENTENCES_MAX = 6
/** Characters of all memories together; bounds the cost of a question. */
const EVIDENCE_LENGTH_MAX = 9_000
const EVIDENCE_MAX = 100

/** In the order of the evidence, best first. */
export const readPassages = (evidence: ReadonlyArray<Evidence>): ReadonlyArray<Passage> => {
  const passages: Array<Passage> = []
  let length = 0
  for (const memory of evidence.slice(0, EVIDENCE_MAX)) {
    const statement = readStatement(memory)
    if (length + statement.text.length > EVIDENCE_LENGTH_MAX) continue
    length += statement.text.length
    for (const text of sentencesOf(statement.text)) passages.push(passageOf(memory, { ...statement, text }))
  }
  return passages
}

const passageOf = (memory: Evidence, statement: MemoryStatement): Passage => {
  const subject = statement.subject ?? ""
  return {
    memory,
    statement,
    terms: new Set(tokenize(`${statement.text} ${subject} ${statement.unsaid} ${unsaidWord(statement.text)}`)),
    subject: new Set(tokenize(subject)),
    isOfPast: OF_PAST.test(statement.text)
  }
}

/** Adds "job" to "Rosa is an opera singer", which does not contain the word. */
const unsaidWord = (text: string): string => (OCCUPATION.test(text) && !/vegetarian/i.test(text) ? "occupation" : "")

const OCCUPATION =
  /\b(?:is|was|am) an? (?:[\p{L}-]+ ){0,3}?(?:[\p{L}-]{3,}(?:er|or|ist|yst|ian|ant|eer|man|woman)|captain|chef|nurse|pilot|vet|clerk|coach|judge|cook|guide|student)\b/iu

const OF_PAST = /\b(?:used to|no longer|formerly|previously|any ?more|in the past|until recently)\b/i

const sentencesOf = (text: string): ReadonlyArray<string> => {
  if (text.length <= PASSAGE_LENGTH_MAX) return text === "" ? [] : [text]
  return text
    .split(/(?<=[.!?;])\s+/)
    .slice(0, SENTENCES_MAX)
    .map((sentence) => (sentence.length <= PASSAGE_LENGTH_MAX ? sentence : cut(sentence)))
}

const cut = (sentence: string): string =>
  `${sentence
    .slice(0, sentence.lastIndexOf(" ", PASSAGE_LENGTH_MAX - 1) + 1 || PASSAGE_LENGTH_MAX - 1)
    .replace(/\p{Cs}$/u, "")
    .trimEnd()}…`

/** Identities: stems of the asker's names, and the names behind relations ("my sister" is Anna). */
export interface Cast {
  readonly asker: ReadonlySet<string>
  readonly byRelation: ReadonlyMap<string, ReadonlySet<string>>
}

export const castOf = (passages: ReadonlyArray<Passage>): Cast => {
  const asker = new Set(["user"])
  const byRelation = new Map<string, Set<string>>()
  const subjects = new Map<string, number>()
  for (const { statement, subject } of passages) {
    const own = OWN_NAME.exec(statement.text)
    // Rules store "My name is Alice" as "Alice's name is Alice". Other persons' names are found by their relation.
    if (own !== null && (own[1] === undefined || isUser(own[1]) || own[1] === own[2])) addAll(asker, own[2])
    for (const pattern of RELATIONS) {
      for (const { groups = {} } of statement.text.matchAll(pattern)) {
        for (const relation of tokenize(groups["relation"] ?? "")) {
          byRelation.set(relation, addAll(byRelation.get(relation) ?? new Set(), groups["name"]))
        }
      }
    }
    const [key] = subject
    if (key !== undefined) subjects.set(key, (subjects.get(key) ?? 0) + 1)
  }
  // If no memory names the asker: the subject of most memories.
  const [most] = [...subjects].sort((left, right) => right[1] - left[1])
  if (asker.size === 1 && most !== undefined && !subjects.has("user")) asker.add(most[0])
  return { asker, byRelation }
}

const addAll = (stems: Set<string>, words: string | undefined): Set<string> => {
  for (const stem of tokenize(words ?? "")) if (!stopWords.has(stem)) stems.add(stem)
  return stems
}

const NAME = "(?<name>\\p{Lu}[\\p{L}-]+)"
const RELATION = "(?<relation>\\p{Ll}{3,})"
const OWN_NAME =
  /(?:\b(\p{L}+)['’]s (?:first |full )?name is|\bmy name is|\buser is (?:called|named)) (\p{Lu}[\p{L}-]+)/iu
const RELATIONS: ReadonlyArray<RegExp> = [
  new RegExp(
    `(?:['’]s|\\b(?:[Mm]y|[Hh]is|[Hh]er|[Tt]heir)) (?:\\p{Ll}+ )??${RELATION}(?:['’]s name)?,? (?:is (?:called |named )?|named |called )?${NAME}`,
    "gu"
  ),
  new RegExp(`${NAME} is (?:\\p{Lu}\\p{L}+['’]s|the user['’]s|[Mm]y|his|her|their) (?:\\p{Ll}+ )??${RELATION}`, "gu"),
  new RegExp(`\\bha(?:s|ve) an? (?:\\p{Ll}+ )??${RELATION},? (?:called |named )?${NAME}`, "gu"),
  new RegExp(`\\b(?:married to|engaged to) ${NAME}(?<relation>)`, "gu")
]

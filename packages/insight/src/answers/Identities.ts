/**
 * Identities of people among the memories of one answer: the names of the user, and the names behind relations ("my
 * sister" is Anna).
 *
 * Invariant: an unknown name stands for no subject. Taking it for the user's would answer "Where does Bob live?" with the
 * user's home.
 */
import { stopWords } from "@muniment/engine/text/StopWords"
import { tokenize } from "@muniment/engine/text/Tokenizer"
import { isUser, type MemoryStatement } from "./MemoryStatement.ts"

export interface Identities {
  /** Stems of the user's names; always has `user`. */
  readonly user: ReadonlySet<string>
  /** Stems of all who speak by name in a quoted conversation. */
  readonly speakers: ReadonlySet<string>
  readonly byRelation: ReadonlyMap<string, ReadonlySet<string>>
}

export const readIdentities = (statements: ReadonlyArray<MemoryStatement>): Identities => {
  const user = new Set(["user"])
  const speakers = new Set<string>()
  const byRelation = new Map<string, Set<string>>()
  const subjects = new Map<string, number>()
  for (const { speaker, subject, text } of statements) {
    if (speaker !== undefined) addAll(speakers, speaker.name)
    const isAside = speaker !== undefined && (speaker.role !== "user" || speaker.name !== undefined)
    const own = isAside ? null : OWN_NAME.exec(text)
    // Rules store "My name is Alice" as "Alice's name is Alice". Other persons' names are found by their relation.
    if (own !== null && (own[1] === undefined || isUser(own[1]) || own[1] === own[2])) addAll(user, own[2])
    const introduced = speaker === undefined || isAside ? null : INTRODUCTION.exec(text)
    if (introduced !== null) addAll(user, introduced[1] ?? introduced[2])
    for (const pattern of RELATIONS) {
      for (const { groups = {} } of text.matchAll(pattern)) {
        for (const relation of tokenize(groups["relation"] ?? "")) {
          byRelation.set(relation, addAll(byRelation.get(relation) ?? new Set(), groups["name"]))
        }
      }
    }
    const [key] = speaker === undefined ? tokenize(subject ?? "") : []
    if (key !== undefined) subjects.set(key, (subjects.get(key) ?? 0) + 1)
  }
  // If no memory names the user: the subject of most memories, but of a chat it is who speaks.
  const isOfChat = statements.some(({ speaker }) => speaker !== undefined)
  const [most] = [...subjects].sort((left, right) => right[1] - left[1])
  if (user.size === 1 && !isOfChat && most !== undefined && !subjects.has("user")) user.add(most[0])
  return { user, speakers, byRelation }
}

const addAll = (stems: Set<string>, words: string | undefined): Set<string> => {
  for (const stem of tokenize(words ?? "")) if (!stopWords.has(stem)) stems.add(stem)
  return stems
}

const NAME = "(?<name>\\p{Lu}[\\p{L}-]+)"
const RELATION = "(?<relation>\\p{Ll}{3,})"
const OWN_NAME =
  /(?:\b(\p{L}+)['’]s (?:first |full )?name is|\bmy name is|\buser is (?:called|named)|\bI['’]m called) (\p{Lu}[\p{L}-]+)/iu
/** "I'm Yusuf Demir", "Tom here." */
const INTRODUCTION =
  /\b(?:I['’]m|I am|[Tt]his is) (\p{Lu}\p{Ll}+) \p{Lu}\p{Ll}+[.,!]|^(?:\p{L}+, )?(\p{Lu}\p{Ll}+) here[.,!]/u
const RELATIONS: ReadonlyArray<RegExp> = [
  new RegExp(
    `(?:['’]s|\\b(?:[Mm]y|[Hh]is|[Hh]er|[Tt]heir)) (?:\\p{Ll}+ )??${RELATION}(?:['’]s name)?,? (?:is (?:called |named )?|named |called )?${NAME}`,
    "gu"
  ),
  new RegExp(`${NAME} is (?:\\p{Lu}\\p{L}+['’]s|the user['’]s|[Mm]y|his|her|their) (?:\\p{Ll}+ )??${RELATION}`, "gu"),
  new RegExp(`\\bha(?:s|ve) an? (?:\\p{Ll}+ )??${RELATION},? (?:called |named )?${NAME}`, "gu"),
  new RegExp(`\\b(?:married to|engaged to) ${NAME}(?<relation>)`, "gu")
]

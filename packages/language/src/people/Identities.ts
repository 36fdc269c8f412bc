/**
 * Identities of people among the memories of one answer: the names of the user, and the names behind relations ("my
 * sister" is Anna).
 *
 * Invariant: an unknown name stands for no subject. Taking it for the user's would answer "Where does Bob live?" with the
 * user's home.
 */
import { stopWords } from "../text/Language.ts"
import { tokenize } from "../text/Tokenizer.ts"
import { isRelation, isUser } from "./Relations.ts"

/** Fields of a memory that are read. */
export interface IdentityTold {
  readonly text: string
  /** The person or thing it is about. */
  readonly subject: string | undefined
  /** Who said it, of a message. */
  readonly speaker: { readonly role: string; readonly name: string | undefined } | undefined
}

export interface Identities {
  /** Stems of the user's names; always has `user`. */
  readonly user: ReadonlySet<string>
  /** Stems of all who speak by name in a quoted conversation. */
  readonly speakers: ReadonlySet<string>
  /** Of relatives of the one whom the question names as theirs: Ann's sister is not Ben's. */
  readonly byRelation: ReadonlyMap<string, ReadonlySet<string>>
}

interface Related {
  readonly relation: string
  readonly name: string | undefined
  /** Stems of whose relative it is; undefined: unknown. */
  readonly owners: ReadonlySet<string> | undefined
}

/** `asked`: the question; without it relatives of anybody. */
export const readIdentities = (statements: ReadonlyArray<IdentityTold>, asked: string = ""): Identities => {
  const user = new Set(["user"])
  const speakers = new Set<string>()
  const related: Array<Related> = []
  const subjects = new Map<string, number>()
  for (const statement of statements) {
    const { speaker, subject, text } = statement
    if (speaker !== undefined) addAll(speakers, speaker.name)
    const isAside = speaker !== undefined && (speaker.role !== "user" || speaker.name !== undefined)
    const own = isAside ? null : OWN_NAME.exec(text)
    // Rules store "My name is Alice" as "Alice's name is Alice". Other persons' names are found by their relation.
    if (own !== null && (own[1] === undefined || isUser(own[1]) || own[1] === own[2])) addAll(user, own[2])
    const introduced = speaker === undefined || isAside ? null : INTRODUCTION.exec(text)
    if (introduced !== null) addAll(user, introduced[1] ?? introduced[2])
    for (const pattern of RELATIONS) {
      for (const { groups = {} } of text.matchAll(pattern)) {
        const owners = ownersOf(groups["owner"], statement)
        for (const relation of tokenize(groups["relation"] ?? "")) {
          related.push({ relation, name: groups["name"], owners })
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
  const byRelation = new Map<string, Set<string>>()
  const wanted = askedOwners(asked, user)
  for (const { name, owners, relation } of related) {
    const ownersAsked = wanted.get(relation)
    if (ownersAsked !== undefined && owners?.isDisjointFrom(ownersAsked) === true) continue
    byRelation.set(relation, addAll(byRelation.get(relation) ?? new Set(), name))
  }
  return { user, speakers, byRelation }
}

/** Whose a relative is: "my", "Ben's", "the user's", "Ben has". "His" and "also has" leave the owner open. */
const ownersOf = (owner: string | undefined, { speaker, subject }: IdentityTold): ReadonlySet<string> | undefined => {
  if (owner === undefined)
    return subject === undefined || speaker !== undefined ? undefined : new Set(tokenize(subject))
  if (/^(?:my|I|we)$/i.test(owner)) {
    if (speaker?.name === undefined) return new Set(["user"])
    return new Set([...tokenize(speaker.name), ...(speaker.role === "user" ? [ASKER] : [])])
  }
  return /^\p{Lu}|['’]s$/u.test(owner) && !isPronoun(owner) ? new Set(tokenize(ownerName(owner))) : undefined
}

/** Who asks may be any of those who speak as users. */
const ASKER = "asker"
const ownerName = (owner: string): string => owner.replace(/['’]s$/, "")
const isPronoun = (word: string): boolean => stopWords.has(ownerName(word).toLowerCase())

/** By stem of each relation in the question: who its owner may be. Of "my brother's wife" any. */
const askedOwners = (asked: string, user: ReadonlySet<string>): ReadonlyMap<string, ReadonlySet<string>> => {
  const wanted = new Map<string, ReadonlySet<string>>()
  for (const [, owner = "", words = ""] of asked.matchAll(ASKED_OWNER)) {
    const isAsker = /^(?:my|our)$/i.test(owner)
    if (!isAsker && (isPronoun(owner) || isRelation(ownerName(owner)))) continue
    const stems = new Set(isAsker ? [...user, ASKER] : tokenize(ownerName(owner)))
    const owners = stems.isDisjointFrom(user) ? stems : stems.union(user)
    for (const relation of tokenize(words)) wanted.set(relation, owners)
  }
  return wanted
}
const ASKED_OWNER = /(?<!\p{L})(my|our|\p{L}+['’]s) (?=(\p{Ll}[\p{L}-]*(?: \p{Ll}[\p{L}-]*)?))/giu

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
    `\\b(?<owner>\\p{L}+['’]s|[Mm]y|[Hh]is|[Hh]er|[Tt]heir) (?:\\p{Ll}+ )??${RELATION}(?:['’]s name)?,? (?:is (?:called |named )?|named |called )?${NAME}`,
    "gu"
  ),
  new RegExp(
    `${NAME} is (?:the )?(?<owner>\\p{Lu}\\p{L}+['’]s|user['’]s|[Mm]y|his|her|their) (?:\\p{Ll}+ )??${RELATION}(?![\\p{L}-])`,
    "gu"
  ),
  new RegExp(`(?:(?<owner>\\p{L}+) )?\\bha(?:s|ve) an? (?:\\p{Ll}+ )??${RELATION},? (?:called |named )?${NAME}`, "gu")
]

/** Of whom or what a question asks, by what stands behind its auxiliary: "does my sister", "is Ann's mother", "do I". */
import { stopWords } from "@muniment/engine/text/StopWords"
import { tokenize } from "@muniment/engine/text/Tokenizer"

/** `thing`: whatever has an article; `open`: the question asks who or what does something. */
export interface AskedSubject {
  readonly kind: "asker" | "person" | "thing" | "open"
  /** "We": of several who talk with each other anybody. */
  readonly isGroup: boolean
  /** Stems of its words; of "Ann's mother" the mother's. */
  readonly terms: ReadonlyArray<string>
  /** The auxiliary before it, and the words behind it, in lower case. */
  readonly auxiliary: string
  readonly rest: string
}

const AUXILIARY = "is|are|was|were|am|do|does|did|has|have|had|can|could|will|would|should|must"
const ANY_CASE = AUXILIARY.split("|")
  .map((word) => `[${word[0]!.toUpperCase()}${word[0]}]${word.slice(1)}`)
  .join("|")
const SUBJECT = new RegExp(
  `(?:\\b(?:${ANY_CASE})(?:n['’]t)?|(?<=\\b(?:[Ww]ho|[Ww]hat|[Ww]here|[Ww]hen|[Hh]ow))['’]s) +(?!\\p{Ll}+ing\\b)(?:([Ii]|we|the user(?!['’]s))(?= |\\?|$)|((?:my|our|the user['’]s) )|(\\p{Lu}[\\p{L}-]+(?: \\p{Lu}[\\p{L}-]+)*)(['’]s )?|(the |an? |this |that |these |those )?)(.*)$`,
  "u"
)

export const askedSubject = (text: string, names: ReadonlyArray<ReadonlyArray<string>>): AskedSubject => {
  const found = SUBJECT.exec(text)
  if (found === null) return { kind: "open", isGroup: false, terms: [], auxiliary: "", rest: "" }
  const [whole, asker, owned, name, possessive] = found
  const rest = found[6] ?? ""
  const auxiliary = (/^\p{L}+/u.exec(whole)?.[0] ?? "is").toLowerCase()
  const isGroup = /^(?:we|our )$/.test(asker ?? owned ?? "")
  if (asker !== undefined) return { kind: "asker", isGroup, terms: [], auxiliary, rest: rest.toLowerCase() }
  const isName = name !== undefined && tokenize(name).some((stem) => names.some((known) => known.includes(stem)))
  if (isName && possessive === undefined) {
    return { kind: "person", isGroup, terms: tokenize(name), auxiliary, rest: rest.toLowerCase() }
  }
  const words = (isName || owned !== undefined ? rest : `${name ?? ""}${possessive ?? ""}${rest}`).trim()
  const terms = nounsOf(words)
  const kind = isName || owned !== undefined ? "person" : terms.length === 0 ? "open" : "thing"
  return { kind, isGroup, terms, auxiliary, rest: words.toLowerCase() }
}

const NOUNS_MAX = 2
const nounsOf = (words: string): ReadonlyArray<string> => {
  const first: Array<string> = []
  for (const word of words.split(/[^\p{L}\p{N}_'’-]+/u)) {
    if (first.length === NOUNS_MAX || stopWords.has(word.toLowerCase()) || word === "") break
    first.push(word)
  }
  return tokenize(first.join(" "))
}

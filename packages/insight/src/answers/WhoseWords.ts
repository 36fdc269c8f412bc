/**
 * Of whom the citations of a sentence tell what it says. A value stands in clauses of the cited messages; each clause has
 * a subject (`Clause.ts`). Where all of them are of a relative of the writer, and neither the sentence nor the question
 * names any, the sentence takes another's for the one who is asked about; so it may where it names somebody whom none of
 * them is by or names.
 */
import { stopWords } from "@muniment/engine/text/StopWords"
import { queryTerms, tokenize } from "@muniment/engine/text/Tokenizer"
import type { Source } from "./CitedSource.ts"
import type { Clause } from "./Clause.ts"
import type { Identities } from "./Identities.ts"
import type { Question } from "./Question.ts"

interface Asked {
  readonly asked: Question
  readonly identities: Identities
}

export const whoseElse = (
  sentence: string,
  cited: ReadonlyArray<Source>,
  { asked, identities }: Asked
): string | undefined => {
  const named = withRelations(new Set([...tokenize(sentence), ...tokenize(asked.text)]), identities)
  const own = queryTerms(sentence).filter((term) => !stopWords.has(term) && !asked.names.flat().includes(term))
  const news = own.filter((term) => !asked.terms.includes(term))
  const value = news.length > 0 ? news : own
  const carrying = cited.flatMap(({ quote }) =>
    (quote?.clauses ?? []).filter(({ terms }) => value.some((term) => terms.has(term)))
  )
  const isOfOthers = (clause: Clause): boolean => {
    const { subject, subjectTerms, text } = clause
    if ((subject !== "owned" && subject !== "other") || subjectTerms.size === 0) return false
    if (!subjectTerms.isDisjointFrom(named) || /\b(?:I|me|my|we|us|our)\b(?!\s+\p{L}+\s+(?:is|has|was)\b)/u.test(text))
      return false
    return subject === "owned" && !subjectTerms.isDisjointFrom(relatives) && named.isDisjointFrom(relatives)
  }
  if (carrying.length > 0 && carrying.every(isOfOthers)) {
    return `"${carrying[0]!.text}" is said of somebody else, and the sentence does not say so`
  }
  const stranger = strangerIn(sentence, cited, asked, identities)
  return stranger === undefined ? undefined : `no memory that it cites is by ${stranger}, or names ${stranger}`
}

/** Of several who write by name: one of the sentence whom no citation names or is by. They may have been taken for another. */
const strangerIn = (
  sentence: string,
  cited: ReadonlyArray<Source>,
  asked: Question,
  { byRelation, speakers }: Identities
): string | undefined => {
  if (cited.some(({ quote }) => quote?.statement.speaker?.name === undefined)) return undefined
  const texts = cited.flatMap((source) => source.texts)
  const told = new Set(texts.flatMap((text) => [...tokenize(text)]))
  const people = new Set([...speakers, ...asked.names.flat()])
  if (texts.some((text) => /\b(?:he|she|they|him|her|them|his|their)\b/i.test(text))) {
    for (const name of asked.names.flat()) if (!speakers.has(name)) people.delete(name)
  }
  return sentence.match(/\b\p{Lu}[\p{L}-]+/gu)?.find((name) => {
    const stems = tokenize(name)
    const relation = [...byRelation].find(([, names]) => stems.some((stem) => names.has(stem)))?.[0]
    return stems.every((stem) => people.has(stem) && !told.has(stem)) && !(relation !== undefined && told.has(relation))
  })
}

/** "My sister" is Anna. */
const withRelations = (named: ReadonlySet<string>, { byRelation }: Identities): ReadonlySet<string> => {
  const all = new Set(named)
  for (const [relation, names] of byRelation) {
    if (all.has(relation)) for (const name of names) all.add(name)
    else if ([...names].some((name) => all.has(name))) all.add(relation)
  }
  return all
}

const relatives: ReadonlySet<string> = new Set(
  tokenize(
    "spouse sibling parent child kid grandchild sister brother mother father mum mom dad parents wife husband partner girlfriend boyfriend fiancee son daughter aunt uncle " +
      "cousin niece nephew grandmother grandfather grandma grandpa granny friend flatmate roommate boss colleague neighbour " +
      "neighbor landlord ex"
  )
)

/**
 * Of whom a statement tells, by the words before its verb: of its speaker, of somebody or something of the speaker's, of a
 * person named, of the listener, or of somebody else. `Unlike my brother, I do not drink` is of the speaker; `My wife is
 * allergic` is not.
 */
import { oneOf } from "../text/OneOf.ts"
import { finiteForms, interjections, settings } from "./speechWords.ts"

export interface SpokenSubject {
  /** `owned`: `my wife`, `our landlord`, `my job`, with `words` as spoken behind `my`. `none`: no subject is said. */
  readonly type: "speaker" | "owned" | "named" | "pronoun" | "listener" | "other" | "none"
  readonly words: string
}

/** `statement` is one of `statementsOf`, its contractions written out. */
export const subjectOf = (statement: string): SpokenSubject => {
  const text = withoutLead(statement)
  for (const [type, says] of forms) {
    const found = says.exec(text)
    if (found !== null) return { type, words: (found[1] ?? "").trim() }
  }
  return { type: "none", words: "" }
}

const finite = oneOf(finiteForms).source
/** The words of a noun phrase up to its verb; a relative clause belongs to it. */
const phraseWords = String.raw`(?:[\p{L}\d'-]+,? ){0,6}?`

const forms: ReadonlyArray<readonly [SpokenSubject["type"], RegExp]> = [
  ["speaker", /^(?:I|we|me|(?:my|our) (?:[\p{L}'-]+ ){1,3}(?:and|nor|or) I|both of us|neither of us|none of us)\b/iu],
  ["other", /^[Ii]t (?:is|was) (?:my|our|his|her|the|\p{Lu})/u],
  [
    "owned",
    new RegExp(
      String.raw`^(?:my|our) (${phraseWords}[\p{L}'-]+),? (?:(?:who|which|that)\b|(?:\p{L}+ly |also |just |always |never |still |now )*(?:${finite})\b|[\p{L}]+(?:ed|s)\b)`,
      "iu"
    )
  ],
  ["owned", /^(?:my|our) ([\p{L}'-]+)/iu],
  ["listener", /^(you|your)\b/i],
  ["pronoun", /^(he|she|they|it|his|her|their|its|this|that|these|those)\b/i],
  [
    "other",
    /^((?:the|an?|some|any|every|each|no|one|half|most|many|several|everyone|everybody|someone|somebody|nobody|people|what|who)\b[^,;.]{0,60})/i
  ],
  [
    "named",
    new RegExp(
      String.raw`^((?!I\b)\p{Lu}[\p{L}'-]*(?: (?!I\b)\p{Lu}[\p{L}'-]*){0,2})(?: and \p{Lu}[\p{L}'-]*)?,? (?:who\b|(?:\p{L}+ly |also |just |always |never |still |now )?(?:(?:${finite})\b|\p{Ll}+(?:s|ed)\b))`,
      "u"
    )
  ]
]

const call = oneOf(interjections, { before: "^(?:", after: String.raw`)[\s,!.:;-]+(?=\S)`, flags: "i" })
const contrast =
  /^(?:unlike|like|apart from|besides|except(?: for)?|with|without|because of|thanks to|for|in|at|on|after|before|as|when|while|since|though|although|if) [^,]{1,60}, /i

/** Without greetings, times and contrasts in front. */
const withoutLead = (statement: string): string => {
  let text = statement.trim().replace(/^\W+/, "")
  for (let round = 0; round < leadsMax; round++) {
    const before = text
    text = text.replace(call, "").replace(contrast, "")
    const time =
      /^([\p{L}\d]+)(?: [\p{L}\d']+){0,4},? (?=(?:I|we|he|she|they|it|you|my|our|his|her|the|\p{Lu}\p{L}+ \p{Ll}+)\b)/u.exec(
        text
      )
    if (time !== null && settings.has(time[1]?.toLowerCase() ?? "") && !/^one of\b/i.test(text))
      text = text.slice(time[0].length)
    if (text === before) break
  }
  return text
}

const leadsMax = 4

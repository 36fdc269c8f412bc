/**
 * A run-on sentence cut into the statements that it strings together, so that a wish or a question in one does not hide
 * what another states. Reported speech and conditions reach to the next `but`; questions and scenes (`When I was young,
 * ...`) stay whole.
 */
import { oneOf } from "../text/OneOf.ts"
import { isReported } from "./Mood.ts"
import { finiteForms, interjections, settings, statementJoints, statementLeads } from "./speechWords.ts"

export const statementsOf = (sentence: string): ReadonlyArray<string> => {
  if (whole.test(sentence)) return [sentence]
  const parts: Array<string> = []
  let from = 0
  for (const joint of sentence.matchAll(joints)) {
    const part = sentence.slice(from, joint.index)
    const isContrast = /\bbut\b/.test(joint[0])
    if (!isContrast && (reaching.test(part) || isReported(part))) continue
    // `last Friday, I went`: when it was.
    if (!hasVerb.test(part) && settings.has(/\w+/.exec(part)?.[0].toLowerCase() ?? "")) continue
    if ((/\band\b/.test(joint[0]) && !hasVerb.test(part)) || introduces.test(part)) continue
    parts.push(part)
    from = joint.index + joint[0].length
  }
  return [...parts, sentence.slice(from)].filter((part) => /\p{L}/u.test(part) && !isCall.test(part))
}

/** `remember`, `correction`: said of what follows. */
const introduces = oneOf(statementLeads, {
  before: String.raw`^(?:please |also |and |so |just )*(?:`,
  after: ")$",
  flags: "i"
})
const isCall = oneOf(interjections, { before: "^(?:", after: String.raw`)\W*$`, flags: "i" })

const whole = new RegExp(
  "^(?:\\W|and |but |so )*(?:when|while|after|before|once|until|whenever|as|since|although|though|even|what|why|how|where|who|which|do|does|did|is|are|can|could|would|will|should)\\b",
  "i"
)
const reaching = /\b(?:if|unless|imagine|suppose|pretend|whether)\b/i
const hasVerb = oneOf(finiteForms, { before: String.raw`\b(?:I|we|he|she|they|it|`, after: String.raw`)\b` })

const subject = String.raw`(?:I|we|he|she|they|it|that|there)\b(?! and\b)|(?:can|could|would|will|do) you\b|any |(?:my|our|his|her|the) (?:[\p{L}'-]+ ){1,4}?(?=FINITE)|\p{Lu}[\p{L}'-]+ (?=FINITE)|(?!(?:what|who|why|how|still|never|always)\b)\p{Ll}{3,} (?=(?:comes|starts|ends|arrives|opens|closes|leaves) )`
const finite = oneOf(finiteForms, { after: String.raw`\b` }).source
const joints = new RegExp(
  `(?:,? (?:${statementJoints.join("|")})|,|;|:| -) (?:(?:then|also|now|actually|honestly|anyway|apparently|luckily|yes|no|oh) )?(?=${subject.replaceAll("FINITE", finite)})`,
  "gu"
)

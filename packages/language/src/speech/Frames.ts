/**
 * Text in a message that is not its writer's own statement: code, quotations, dialogues, pasted mail, drafts and texts to
 * work on, suppositions, role play. Recognised in the whole message and by structure: marks around a text, a speaker or a
 * header before a line, what a colon or a request introduces. A frame without an end mark lasts to the end of the message.
 */
import { oneOf } from "../text/OneOf.ts"
import {
  handlingVerbs,
  keepingLeads,
  lastingPlays,
  makingVerbs,
  ownLeads,
  speakerNouns,
  speechVerbs,
  suppositionLeads,
  textNouns,
  textVerbs
} from "./speechWords.ts"
import { plainMarks } from "./WrittenOut.ts"

export type FrameType = "code" | "quotation" | "dialogue" | "paste" | "draft" | "supposition" | "play"

/** Offsets in UTF-16 units, as in `String.slice`. */
export interface Frame {
  readonly type: FrameType
  readonly start: number
  readonly end: number
}

/** In order, without overlaps. `text` has plain marks (`plainText` below keeps every offset). */
export const framesOf = (message: string): ReadonlyArray<Frame> => {
  const text = sameLength(message)
  const closed = closedFrames(text)
  const rest = closed.reduce(
    (masked, { end, start }) => masked.slice(0, start) + blank(masked, start, end) + masked.slice(end),
    text
  )
  const open = openFrame(rest, text)
  if (open === undefined) return closed
  return [...closed.filter(({ end }) => end <= open.start), open]
}

/** Curly marks as straight ones, each in its place. */
const sameLength = (text: string): string =>
  text.replace(/[\u2018\u2019\u02bc]/g, "'").replace(/[\u201c-\u201f\u00ab\u00bb]/g, '"')

const blank = (text: string, start: number, end: number): string => text.slice(start, end).replace(/[^\n]/g, " ")

/** Marks at both ends. */
const closedMarks: ReadonlyArray<readonly [FrameType, RegExp]> = [
  ["code", /```[\s\S]*?(?:```|$)|~~~[\s\S]*?(?:~~~|$)/g],
  ["code", /`[^`\n]*`/g],
  ["code", /^[ \t]*[{[]"[^\n]*$/gm],
  ["quotation", /^[ \t]*[>|][^\n]*$/gm],
  ["quotation", /<(\w+)[^<>\n]{0,200}>[^<>]{0,4000}<\/\1>|\[(\w+)[^\][\n]{0,200}\][^\][]{0,4000}\[\/\2\]/g],
  ["quotation", /"[^"\n]{1,2000}"/g],
  // "I live in Bonn, she says", "as the song goes, I'm a barbie girl".
  [
    "quotation",
    oneOf(speechVerbs, {
      before: String.raw`(?<=^|[.!?] |\n)[^.!?\n]{3,300}, (?:(?:(?!I\b)\p{Lu}\p{L}+|he|she|they|(?:my|the|our|his|her|their|an?) \p{Ll}+) (?:`,
      after: String.raw`)(?: (?:me|us|to me))?|said (?:\p{Lu}\p{L}+|(?:my|the|our|his|her|an?) \p{Ll}+))(?=[.!?]|\n|$)`,
      flags: "gu"
    })
  ],
  [
    "quotation",
    oneOf(speechVerbs, {
      before: String.raw`(?<=^|[.!?] |\n)[Aa]s (?!I\b|we\b)[\p{L}' -]{2,40} (?:`,
      after: String.raw`), [^.!?\n]*[.!?]?`,
      flags: "gu"
    })
  ],
  // A list of memories: no writer calls themselves "user".
  ["quotation", /^[ \t]*(?:[-*•]|\d+[.)])[ \t]*(?:the )?user(?:'s [^\n]{1,40}? (?:is|are)| [a-z]+s| has)\b[^\n]*$/gim],
  ["quotation", /(?<=^|[\s(])'(?=\p{L})[^'\n]{1,400}(?:'\p{L}[^'\n]{0,400}){0,8}'(?=[\s.,;:!?)]|$)/gmu]
]

const closedFrames = (text: string): ReadonlyArray<Frame> => {
  const found: Array<Frame> = []
  for (const [type, marks] of closedMarks)
    for (const match of text.matchAll(marks)) {
      const [start, end] = [match.index, match.index + match[0].length]
      const isTaken = found.some((other) => start < other.end && other.start < end)
      if (isTaken || (type === "quotation" && isTitle(match[0]))) continue
      found.push({ type, start, end })
    }
  return found.toSorted((one, other) => one.start - other.start)
}

const titleWordsMax = 4

/** A quoted name or title (`my dog "Rex"`) belongs to the sentence around it. */
const isTitle = (quotation: string): boolean =>
  /^["']/.test(quotation) &&
  quotation.trim().split(/\s+/).length <= titleWordsMax &&
  !/\b(?:I|I'm|my|we|you)\b/.test(quotation)

/** The first frame without an end mark. */
const openFrame = (rest: string, text: string): Frame | undefined => {
  const end = text.length
  for (const unit of unitsOf(rest)) {
    const type = openedBy(unit, rest)
    if (type === undefined) continue
    const isOfAll = type === "draft" && isAboutText(unit.text) && !/\b(?:following|below)\b|:\s*\S/i.test(unit.text)
    const behind = unit.start + unit.text.length
    // `I'm writing a novel` is a statement: what follows may be of the novel.
    const start = type === "draft" && ownText.test(unit.text) ? behind : unit.start
    const hasText = /\p{L}/u.test(rest.slice(behind))
    return { type, start: isOfAll && (unit.start > 0 || !hasText) ? 0 : start, end }
  }
  return undefined
}

interface Unit {
  readonly start: number
  readonly text: string
  readonly startsLine: boolean
  readonly endsLine: boolean
}

/** Sentences of each line. */
const unitsOf = (text: string): ReadonlyArray<Unit> =>
  [...text.matchAll(/[^\n]+/g)].flatMap((line) => {
    const parts = [...line[0].matchAll(/\S.*?(?:[.!?]+["')\]]*(?=\s|$)|$)/g)].filter(([part]) => part !== "")
    return parts.map((part, at) => ({
      start: line.index + part.index,
      text: part[0],
      startsLine: at === 0,
      endsLine: at === parts.length - 1
    }))
  })

const openedBy = (unit: Unit, message: string): FrameType | undefined => {
  const text = plainMarks(unit.text).slice(0, leadLengthMax)
  const follows = message.slice(unit.start + unit.text.length)
  if (unit.startsLine) {
    if (isHeader(text, follows) || templateMark.test(text)) return "paste"
    if (unit.endsLine && nameLine.test(text) && laterNameLine.test(follows)) return "dialogue"
    if (isLabelled(text)) return "dialogue"
    if (unit.endsLine && isHeading(text, follows)) return "paste"
  }
  if (supposes.test(text)) return "supposition"
  if (plays.test(text)) return "play"
  if (asksForText(text)) return "draft"
  if (
    presents.test(text) ||
    /\bas follows[.:]?$/i.test(text) ||
    (/\blike this[.:]?$/i.test(text) && anyText.test(text)) ||
    (unit.endsLine && reportEnd.test(text) && /\p{L}/u.test(follows))
  )
    return "paste"
  return introduced(text, follows)
}

const leadLengthMax = 300

/** Marks of a prompt for a model: `### Instruction`, `<|im_start|>user`, `[INST]`. */
const templateMark =
  /^(?:<\|\w+\|>|\[\/?INST\]|#{1,6} ?(?:instructions?|response|input|output|system|user|human|assistant|example|prompt)\b:?$)/iu
/** Speakers on lines of their own. */
const nameLine = /^\p{Lu}\p{Ll}+(?: \p{Lu}\p{Ll}+)?$/u
const laterNameLine = /^\n[^\n]*\p{Ll} [^\n]*\n+\p{Lu}\p{Ll}+(?: \p{Lu}\p{Ll}+)?\n/u

const stamp = String.raw`(?:\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4},? )?\d{1,2}:\d\d(?::\d\d)?(?: ?[ap]\.?m\.?)?`
const called = String.raw`\p{L}[\p{L}'.-]*(?: [\p{L}\d][\p{L}\d'.-]*){0,3}`
const stampedFirst = new RegExp(String.raw`^[\s*_(\[-]*${stamp}[\s*_)\],|-]*${called}[*_]*\s*[:>]`, "iu")
const stampedLast = new RegExp(
  String.raw`^[\s*_\[-]*\p{Lu}${called}[*_,]*\s*(?:[-–—]\s*)?[(\[]?(?:(?:today|yesterday|\p{L}+day),? (?:at )?)?${stamp}[)\]]?\s*(?::|$)`,
  "iu"
)
const marked = new RegExp(
  String.raw`^(?:[-*•]\s+)?(?:\[(${called})\]\s*:|\*\*(${called}):?\*\*|__(${called}):?__|@(${called})\s*:|<(${called})>|(${called})(?: \([^)\n]{1,30}\)| via \w+)\s*:|(${called}) ?>(?=\s))`,
  "iu"
)

/** A line that begins with its speaker: `[Ivo]: ...`, `**Ivo** ...`, `10:32 - Ivo: ...`. */
const isLabelled = (text: string): boolean => {
  if (stampedFirst.test(text) || stampedLast.test(text)) return true
  const [whole = "", ...names] = marked.exec(text) ?? []
  const name = names.find((found) => found !== undefined)
  return name !== undefined && !isOwnLead(name) && /\p{L}/u.test(text.slice(whole.length))
}

const header =
  /^(?:-{2,} ?\p{L}|(?:subject|re|fwd?|fw|cc|bcc|sent|reply-to): |(?:from|to): .*@|on .{4,80} wrote:$|dear [^.!?]{1,60},|to whom it may concern)/iu
const pairedHeader = /^(?:from|to|date): /i

const isHeader = (text: string, follows: string): boolean =>
  header.test(text) || (pairedHeader.test(text) && pairedHeader.test(follows.trimStart()))

const headingWordsMax = 6
const anyText = oneOf(textNouns, { before: String.raw`\b(?:`, after: String.raw`)(?![\p{L}'-])`, flags: "iu" })

/** `Diary entry, 1987` on a line of its own. */
const isHeading = (text: string, follows: string): boolean =>
  /\p{L}/u.test(follows) &&
  !/[.!?]$|\b(?:I|my|thanks?|you|your)\b/i.test(text) &&
  text.split(/\s+/).length <= headingWordsMax &&
  anyText.test(text)

const polite = String.raw`^(?:\W*(?:please|pls|can|could|would|will|you|now|then|ok(?:ay)?|hey|hi|and|so|just|kindly|help me(?: to)?|let's|let us|i (?:need|want|would like) you to|i would like to|i'd like (?:you )?to|i want to|i need to|i have to)\b)*\W*`
const asksOf = (verbs: ReadonlyArray<string>, object: string): RegExp =>
  oneOf(verbs, { before: `${polite}(?:`, after: String.raw`)\b${object}`, flags: "iu" })
const near = String.raw`(?: [\p{L}\d'-]+){0,6}? `
const texts = oneOf(textNouns).source
const works = asksOf(textVerbs, "")
const handles = asksOf(
  handlingVerbs,
  String.raw`${near}(?:this\b|that\b(?! I\b)|it\b|the (?:following|text|below|blanks|typos?)|(?:my|the) (?:grammar|spelling|english|typos?|punctuation)|(?:${texts})(?![\p{L}'-]))`
)
const makes = asksOf(makingVerbs, String.raw`${near}(?:${texts})(?![\p{L}'-])`)
const wantsText = new RegExp(
  String.raw`^\W*(?:i|we)(?: am|'m| are|'re)? (?:need|want|writing|drafting|composing)(?: [\p{L}\d'-]+){0,4}? (?:${texts})(?![\p{L}'-])`,
  "iu"
)
const ownText = /^\W*(?:i|we)(?: am|'m| are|'re) (?:writing|drafting|composing)\b/i
const checksText = /\bis (?:this|that|it|the)\b[^?]{0,40}\b(?:correct|right|grammatical)\b[^?]{0,30}\?/i
const aboutText = new RegExp(String.raw`\b(?:this|that|it|above|grammar|spelling|english|typos?|punctuation)\b`, "i")

/** A request for a text, or to work on one; not an order to keep what follows. */
const asksForText = (text: string): boolean =>
  !keepsFirst.test(text) &&
  (works.test(text) || handles.test(text) || makes.test(text) || wantsText.test(text) || checksText.test(text))

/** The text worked on may stand before the request. */
const isAboutText = (text: string): boolean =>
  (works.test(text) || handles.test(text) || checksText.test(text)) && aboutText.test(text)

const supposes = oneOf(suppositionLeads, {
  before: String.raw`^(?:\W*(?:ok(?:ay)?|so|now|and|but|just)\b)*\W*(?:`,
  after: String.raw`)\b`,
  flags: "i"
})
const plays = oneOf(lastingPlays, {
  before: String.raw`^(?:\W*(?:ok(?:ay)?|so|now|and|please|let's|let us|can you|could you)\b)*\W*(?:`,
  after: ")",
  flags: "iu"
})

/** `Here is the mail`, `this is what he posted`: what follows is shown, not said. */
const presents = oneOf(textNouns, {
  before: String.raw`^\W*(?:(?:so|ok|and|look at|see|got|just got) )*(?:here(?:'s| is| are)|this(?: is)?|that(?:'s| is)|these(?: are)?|the following|below(?: is)?)\b(?: [\p{L}'-]+){0,5}? (?:`,
  after: String.raw`|(?:what|how) (?:he|she|they|\p{L}+) (?:said|wrote|posted|sent|says?|writes?))(?![\p{L}'-])`,
  flags: "iu"
})

const reportEnd = oneOf(speechVerbs, {
  before: String.raw`^(?!\W*(?:I|we)\b)[^,;]{1,80}\b(?:`,
  after: String.raw`)(?: (?:as follows|this|that|me this|us this|to me|yesterday|today))?[.:]?$`,
  flags: "i"
})

const speaks = /\b(?:I|I'm|I've|me|my|mine|we|our|us)\b/i

/** What a colon introduces: somebody's words, unless the lead is the writer's own; behind an arrow a text to work on. */
const introduced = (text: string, follows: string): FrameType | undefined => {
  if (
    /^[^:]{0,60}\b(?:check|grammar|spelling|translat\w+|correct\w*|fix|rewrite|rephrase)\b[^:]{0,20} (?:->|=>|→) /iu.test(
      text
    )
  )
    return "draft"
  const found = /^([^:]{1,160}?)(?:\*\*|__)?:(?=\s|$|\*)/.exec(text) ?? fromText.exec(text)
  const lead = found?.[1]
  if (found === null || lead === undefined || isOwnLead(lead)) return undefined
  if (isTopic(lead) && !laterLabel.test(follows)) return undefined
  const said = `${text.slice(found[0].length)}\n${follows}`
  return speaks.test(said) ? (wordCount(lead) <= 3 ? "dialogue" : "paste") : undefined
}

/** `SPEC`, `build target`: what the rest is about. A speaker has a name, a role, or is somebody's. */
const isTopic = (lead: string): boolean => {
  const text = lead.replace(/^\W+|\W+$/g, "")
  if (anyText.test(text) || ofOthers.test(text) || speakerWords.test(text)) return false
  return /^\p{Lu}{2,}$/u.test(text) || /^[\p{L}\d-]+(?: [\p{Ll}\d-]+){1,3}$/u.test(text)
}
const speakerWords = oneOf(speakerNouns, {
  before: String.raw`(?:^(?:my|our|his|her|their|your|old|future|me)\b|\p{L}['’]s?\b|(?<![\p{L}'-])(?:`,
  after: String.raw`)(?![\p{L}'-]))`,
  flags: "iu"
})
const laterLabel = /^[ \t]*\p{L}[^:\n]{0,30}:\s/mu

const fromText = oneOf(textNouns, {
  before: String.raw`^\W*((?:an? |the |this |my )?(?:`,
  after: String.raw`) (?:from|of) [^-]{1,40}?) - `,
  flags: "iu"
})

const wordCount = (text: string): number => text.trim().split(/\s+/).length

const ownHead = oneOf(ownLeads, {
  before: String.raw`^(?:\W*(?:an?|the|my|our|one|two|three|some|so|and|but|ok|just|another) )*(?:\p{L}+ )?(?:`,
  after: String.raw`)(?= (?:for|on|from|about|of)\b|$)`,
  flags: "iu"
})
const order = String.raw`^(?:\W*(?:please|pls|also|and|so|just|can you|could you|you should|I|we|need|want(?:ed)?|would like|should|have|let me|things?|to)\b)*\W*(?:`
const keepsFirst = oneOf(keepingLeads, { before: order, after: String.raw`)\b`, flags: "i" })
const keeps = oneOf(keepingLeads, { before: order, after: String.raw`)\b[^.!?]{0,30}$`, flags: "i" })
/** What others said, or the reader knows. */
const ofOthers = oneOf(speechVerbs, {
  before: String.raw`\byou (?:know|remember|have|saved|stored)\b|\b(?:`,
  after: String.raw`)\b`,
  flags: "i"
})
const ownClause =
  /^\W*(?:(?:so|and|but|because|well|ok|also|then|now|since|as) )*(?:I|we|there|it|that|what (?:matters|counts|I)|the \w+ (?:is|was))\b/i

const isOwnLead = (lead: string): boolean => {
  const text = lead.replace(/^\W+|\W+$/g, "")
  if (text === "") return true
  if (keeps.test(text)) return true
  if (ofOthers.test(text)) return false
  if (ownHead.test(text) && !/^(?:his|her|their|its|this|that|these)\b/i.test(text)) return true
  return ownClause.test(text) && !anyText.test(text)
}

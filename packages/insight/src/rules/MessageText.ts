/**
 * The writer's own speech in a message: code, quoted lines, pasted documents and quotations are removed, the rest is
 * split into sentences. Bounded before the tagger runs; what is left out is counted and reported.
 */
import { pastedThings, pasteWords } from "./lexicon/speech.ts"
import { oneOf } from "./OneOf.ts"
import { rulesLimits } from "./RulesProtocol.ts"
import { plainMarks } from "./Words.ts"

export interface MessageText {
  readonly sentences: ReadonlyArray<string>
  /** Why something was left out; at most one of each. */
  readonly omitted: ReadonlyArray<string>
}

export const messageText = (content: string): MessageText => {
  const omitted = new Set<string>()
  const leave = (reason: string, replacement = " ") => {
    omitted.add(reason)
    return replacement
  }
  let text = content.slice(0, rulesLimits.messageLengthMax)
  if (text.length < content.length) leave("message is too long to be read whole")
  text = plainMarks(text.normalize("NFC").replace(invisible, ""))
    .replace(/(?:^|\s)[:;]['-]?[()DPp/|]+(?=\s|$)/g, ". ")
    .replace(/(\p{L})\1{2,9}/gu, "$1")
  text = text
    .replace(/```[\s\S]*?(?:```|$)/g, () => leave("code block", ". "))
    .replace(/`[^`\n]*`/g, () => leave("code"))
  text = text.replace(/<(\w+)[^<>]{0,200}>[^<>]*<\/\1>|<[^<>]{1,200}>/g, () => leave("markup"))
  const lines = text
    .split("\n")
    .filter((line) => !/^\s*(?:>|\||(?:From|To|Subject|Cc):)/.test(line) || leave("quoted text") === "")
  const own = ownLines(lines, () => void leave("pasted text"))
  text = own.replace(/"[^"\n]{1,2000}"/g, (quotation) => keptQuotation(quotation) ?? leave("quotation", " QUOTATION "))
  // A repeated sentence adds nothing.
  const sentences = [...new Set(sentencesOf(text, () => void leave("sentence is too long to be read")))]
  if (sentences.length > rulesLimits.sentencesPerMessageMax) leave("message has too many sentences")
  return { sentences: sentences.slice(0, rulesLimits.sentencesPerMessageMax), omitted: [...omitted] }
}

/** Zero-width, bidirectional and tag characters, which are invisible. */
const invisible = /[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]|\udb40[\udc00-\udc7f]/g

/** A quoted name or title (`my dog "Rex"`) is part of the sentence; a quoted clause is not the writer's speech. */
const keptQuotation = (quotation: string): string | undefined => {
  const inner = quotation.slice(1, -1).trim()
  return inner.split(/\s+/).length <= 4 && !/\b(?:I|I'm|my|we|you)\b/.test(inner) ? ` ${inner} ` : undefined
}

const pasteIntroduction = oneOf(pasteWords, {
  before: String.raw`\b`,
  after: String.raw`\b[^\n]{0,120}:\s*$`,
  flags: "i"
})
const inlineTask =
  /\b(?:translate|summari[sz]e|proofread|rewrite|rephrase|paraphrase|correct|fix the grammar|grammar)\b[^:\n]{0,80}:(?!\/\/)/i

const inlinePaste = oneOf(pastedThings, {
  before: String.raw`\b(?:here (?:is|are)|here's|got this|received this|this is) (?:an?|the|my|some|this)? ?(?:[\w-]+ ){0,2}`,
  after: String.raw`\b[^:\n]{0,40}:(?!\s*\S+@)`,
  flags: "i"
})

/** Lines before one that introduces a pasted text; a blank line after the paste ends it only if speech of the user follows. */
const ownLines = (lines: ReadonlyArray<string>, paste: () => void): string => {
  const own: Array<string> = []
  for (const line of lines) {
    const task = inlineTask.exec(line) ?? inlinePaste.exec(line)
    if (pasteIntroduction.test(line) || task !== null) {
      own.push(line.slice(0, task?.index ?? 0))
      paste()
      break
    }
    own.push(line)
  }
  return own.join("\n")
}

const sentencesOf = (text: string, tooLong: () => void): ReadonlyArray<string> =>
  text
    .split(/\n+|(?<=[.!?]["')\]]*)\s+(?=["'([]?[A-Za-z0-9])/)
    .reduce<Array<string>>(joinAbbreviations, [])
    .reduce<Array<string>>(joinGreeting, [])
    .map((sentence) =>
      sentence
        .replace(/^\s*(?:[-*\u2022]|\d{1,2}[.)])\s+/, "")
        .replace(/\s+/g, " ")
        .trim()
    )
    .filter((sentence) => /[\p{L}\d]/u.test(sentence))
    .filter((sentence) => {
      const isReadable =
        sentence.length <= rulesLimits.sentenceLengthMax &&
        sentence.split(" ").every((word) => word.length <= rulesLimits.wordLengthMax) &&
        !/[^\w\s]{12}/.test(sentence)
      if (!isReadable) tooLong()
      return isReadable
    })

/** `Hi there! This is Omar.` is one introduction. */
const joinGreeting = (sentences: Array<string>, next: string): Array<string> => {
  const last = sentences.at(-1)
  const isGreeting = last !== undefined && /^(?:hi|hello|hey|hiya)(?: there)?[!.,]*$/i.test(last)
  return isGreeting && /^(?:this|it) is /i.test(next)
    ? [...sentences.slice(0, -1), `${last} ${next}`]
    : [...sentences, next]
}

/** `Dr.`, `St.`, `e.g.` and initials end no sentence. */
const joinAbbreviations = (sentences: Array<string>, next: string): Array<string> => {
  const last = sentences.at(-1)
  if (
    last !== undefined &&
    /(?:^|\s|\()(?:Dr|Mr|Mrs|Ms|Prof|St|Mt|Jr|Sr|vs|approx|e\.g|i\.e|a\.m|p\.m|[A-Z])\.$/.test(last) &&
    /^[A-Z0-9]/.test(next)
  ) {
    // After `a.m.` a capital letter begins a sentence.
    if (!/[ap]\.m\.$/.test(last)) return [...sentences.slice(0, -1), `${last} ${next}`]
  }
  sentences.push(next)
  return sentences
}

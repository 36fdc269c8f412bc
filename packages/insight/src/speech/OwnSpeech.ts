/**
 * What a message says, statement by statement, each with whose it is. Used by the rules (what is stored) and by answers
 * (what is claimed). Pass the message as it was sent, with its line breaks: `readSpeech(data.text)`. A statement holds of
 * the message's speaker now only if `frame` is undefined, `mood` is "stated", `subject` is the one asked about and `isOver`
 * is false; with `isNegated` it denies something. In doubt claim nothing. `withdraws` looks at the speaker's next message.
 */
import { type Frame, framesOf, type FrameType } from "./Frames.ts"
import { isOver, isWithdrawal, type Mood, moodOf, negatorsIn } from "./Mood.ts"
import { type SpokenSubject, subjectOf } from "./SpokenSubject.ts"
import { statementsOf } from "./Statements.ts"
import { writtenOut } from "./WrittenOut.ts"

export interface SpokenStatement {
  /** Contractions written out, without the joint before it. */
  readonly text: string
  /** The sentence it is part of, as a slice of the message. */
  readonly start: number
  readonly end: number
  /** What it stands in, if it is not the writer's own. */
  readonly frame: FrameType | undefined
  readonly mood: Mood
  readonly subject: SpokenSubject
  /** Has a word that denies or all but denies. */
  readonly isNegated: boolean
  /** Of a state that has ended. */
  readonly isOver: boolean
}

export const readSpeech = (message: string): ReadonlyArray<SpokenStatement> => {
  const frames = framesOf(message)
  const sentences = sentencesOf(message)
  // A joke is taken back for the whole message.
  const isTakenBack = sentences.some(({ text }, at) => at > 0 && isWithdrawal(writtenOut(text)))
  return sentences.flatMap(({ end, start, text }) => {
    const frame = frameAt(frames, start, end)
    const written = writtenOut(text).replace(/\s+/g, " ").trim()
    const mood = isTakenBack ? "withdrawn" : moodOf(written)
    return statementsOf(written).map((statement): SpokenStatement => ({
      text: statement.trim(),
      start,
      end,
      frame,
      mood: mood === "stated" ? moodOf(statement.trim()) : mood,
      subject: subjectOf(statement),
      isNegated: negatorsIn(statement).length > 0,
      isOver: isOver(statement)
    }))
  })
}

/** Whether the message takes back what its speaker said in the message before. */
export const withdraws = (message: string): boolean => isWithdrawal(writtenOut(message.trim()))

const frameAt = (frames: ReadonlyArray<Frame>, start: number, end: number): FrameType | undefined =>
  frames.find((frame) => frame.start < end && start < frame.end)?.type

/** Slices of the message: cut behind a full stop, a question or an exclamation mark, and at the end of a line. */
const sentencesOf = (
  message: string
): ReadonlyArray<{ readonly text: string; readonly start: number; readonly end: number }> =>
  [...message.matchAll(/\S[^\n]*?(?:[.!?]+["'”’»)\]]*(?=\s|$)|(?=\n|$))/g)].flatMap(({ 0: text, index }) =>
    /[\p{L}\d]/u.test(text) ? [{ text, start: index, end: index + text.length }] : []
  )

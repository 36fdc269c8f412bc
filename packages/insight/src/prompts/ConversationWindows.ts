/**
 * Splits a conversation into windows that fit the context of a small model, in order. Each window carries the turns before
 * it as context, so that "she" and "there" can be resolved.
 *
 * Invariants: every character of every new message is in exactly one window; a window has at least one
 * piece; numbers are places in the request, from 1.
 */
import type { ExtractionRequest, Turn } from "../extraction/Extractor.ts"

/** Characters of new messages in a window; the whole prompt is then about 8,000 tokens of English. */
export const windowLengthMax = 12_000
/** Tokens that are written of a message of everyday talk. */
export const writtenTokensPerMessage = 70
/** What is written of so many fits into a reply (`extractionTokensMax`). */
const windowMessagesMax = 16
/** A shorter message is not cut. */
const halvedLengthMin = 400
/** What a turn refers to is nearly always near; what is further away is known. */
const contextLengthMax = 1_200
export const contextTurnsMax = 4
/** Characters of a turn beside its content. */
const turnOverhead = 40

/** A message, or a part of one that is too long for a window. */
export interface Piece {
  readonly number: number
  readonly role: Turn["role"]
  readonly name?: string | undefined
  readonly content: string
  readonly sentAt?: string | undefined
}

export interface ConversationWindow {
  readonly pieces: ReadonlyArray<Piece>
  /** Oldest first. Those before the request are numbered backwards from its first message: 0, -1 and so on. */
  readonly context: ReadonlyArray<Piece>
}

export const conversationWindows = (
  request: Pick<ExtractionRequest, "messages" | "context">
): ReadonlyArray<ConversationWindow> => {
  const pieces = request.messages.flatMap(piecesOf)
  let earlier = request.context.map((turn, at): Piece => ({ ...turn, number: at + 1 - request.context.length }))
  return cutInWindows(pieces, ({ content }) => content.length).map((window) => {
    const context = lastTurns(earlier)
    earlier = [...context, ...window]
    return { pieces: window, context }
  })
}

/** What fits into a prompt each, in order; what `isApart` from the one before begins another. */
export const cutInWindows = <A>(
  messages: ReadonlyArray<A>,
  lengthOf: (message: A) => number,
  isApart: (message: A, before: A) => boolean = () => false
): ReadonlyArray<ReadonlyArray<A>> => {
  const windows: Array<Array<A>> = []
  let room = 0
  for (const message of messages) {
    const last = windows.at(-1)
    const length = lengthOf(message) + turnOverhead
    if (last === undefined || length > room || last.length === windowMessagesMax || isApart(message, last.at(-1)!)) {
      windows.push([message])
      room = windowLengthMax - length
    } else {
      last.push(message)
      room -= length
    }
  }
  return windows
}

/** What is read in two parts because the reply to all of it was cut off; undefined: it cannot be cut. */
export const halvesOf = ({ context, pieces }: ConversationWindow): ReadonlyArray<ConversationWindow> | undefined => {
  const [only] = pieces
  if (pieces.length === 1 && only!.content.length < halvedLengthMin) return undefined
  const parts = pieces.length > 1 ? pieces : inTwo(only!)
  const middle = Math.ceil(parts.length / 2)
  const [first, second] = [parts.slice(0, middle), parts.slice(middle)]
  return [
    { context, pieces: first },
    { context: lastTurns([...context, ...first]), pieces: second }
  ]
}

const inTwo = (piece: Piece): ReadonlyArray<Piece> => {
  const at = breakBefore(piece.content, Math.ceil(piece.content.length / 2))
  return [piece.content.slice(0, at), piece.content.slice(at)].map((content) => ({ ...piece, content }))
}

const piecesOf = ({ content, name, role, sentAt }: Turn, index: number): ReadonlyArray<Piece> => {
  const pieces: Array<Piece> = []
  let rest = content
  while (rest.length > windowLengthMax) {
    const end = breakBefore(rest, windowLengthMax)
    pieces.push({ number: index + 1, role, name, sentAt, content: rest.slice(0, end) })
    rest = rest.slice(end)
  }
  return [...pieces, { number: index + 1, role, name, sentAt, content: rest }]
}

/** Where to split, within `lengthMax` characters: after a line, else a sentence, else a word, else anywhere. */
const breakBefore = (text: string, lengthMax: number): number => {
  const head = text.slice(0, lengthMax)
  const sentence = Math.max(
    head.lastIndexOf(". "),
    head.lastIndexOf("! "),
    head.lastIndexOf("? "),
    head.lastIndexOf("。")
  )
  const places = [head.lastIndexOf("\n"), sentence, head.lastIndexOf(" ")]
  return (places.find((at) => at > lengthMax / 2) ?? lengthMax - 1) + 1
}

/** The newest turns that fit; the oldest of them is clipped at its beginning. */
const lastTurns = (turns: ReadonlyArray<Piece>): ReadonlyArray<Piece> => {
  const kept: Array<Piece> = []
  let spare = contextLengthMax
  for (const turn of turns.toReversed()) {
    if (spare <= turnOverhead || kept.length === contextTurnsMax) break
    const content = turn.content.slice(-(spare - turnOverhead))
    kept.push({ ...turn, content })
    spare -= content.length + turnOverhead
  }
  return kept.reverse()
}

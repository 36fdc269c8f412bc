/**
 * What a message shows of itself beside its words: whether it tells something about its speaker, or only asks, and
 * whether the user wrote it. Three bits of the image by slot (`MemoryRow.traits`), derived from role and text.
 */

export const messageTrait = {
  /** A sentence that is no question has I, my, we, our or me. */
  states: 1,
  /** Every sentence is a question. */
  onlyAsks: 2,
  byUser: 4
} as const

/** A set of `messageTrait` bits. */
export type MessageTraits = number

export const messageTraits = (role: string, text: string): MessageTraits => {
  const said = text.match(sentence) ?? []
  const statements = said.filter((one) => !one.includes("?"))
  return (
    (statements.some((one) => ofSpeaker.test(one)) ? messageTrait.states : 0) |
    (said.length > 0 && statements.length === 0 ? messageTrait.onlyAsks : 0) |
    (role === "user" ? messageTrait.byUser : 0)
  )
}

/** Up to its end marks; runs of marks alone belong to the sentence before. */
const sentence = /[^.!?\n]*[\p{L}\p{N}][^.!?\n]*[.!?]*/gu
const ofSpeaker = /\b(?:i|my|we|our|me|im|ive)\b/i

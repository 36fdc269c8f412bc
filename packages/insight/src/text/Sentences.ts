/** Sentences of a text, cut behind a full stop, question mark, exclamation mark or ellipsis. */
export const sentencesOf = (text: string): ReadonlyArray<string> =>
  text.split(/(?<=[.!?…]["'”’)]?)\s+/u).filter((sentence) => sentence !== "")

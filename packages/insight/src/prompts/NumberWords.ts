/** Small numbers as English spells them: what a message says in words a model may write in digits. */

/** The index of a word is its number. */
export const numberWords: ReadonlyArray<string> =
  "zero one two three four five six seven eight nine ten eleven twelve".split(" ")

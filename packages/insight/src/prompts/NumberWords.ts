/** Small numbers in English words: a model may write as digits what a message says in words. */

/** Index = number. */
export const numberWords: ReadonlyArray<string> =
  "zero one two three four five six seven eight nine ten eleven twelve".split(" ")

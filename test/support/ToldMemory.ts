/** A memory as a language model writes it: about Alice, by the first message unless `more` says otherwise. */
export const told = (text: string, quote: string, more: object = {}) => ({
  op: "add",
  about: "Alice",
  type: "fact",
  text,
  n: [1],
  quote,
  ...more
})

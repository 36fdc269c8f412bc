/** What is asked of memories, in words. */
import { Schema } from "effect"
import { Limits } from "./Limits.ts"

/** The query; surrounding blanks are ignored. */
export const QueryText = Schema.String.check(
  Schema.makeFilter(
    (text: string) => {
      const { length } = [...text.trim()]
      return length >= 1 && length <= Limits.queryLengthMax
    },
    {
      expected: `1 to ${Limits.queryLengthMax} characters`,
      // What counts as a blank differs between languages; a byte order mark is one in JavaScript.
      toJsonSchema: () => ({ maxLength: Limits.queryLengthMax, pattern: "[^\\s\\ufeff]" })
    }
  )
).annotate({ description: "Natural-language query, 1 to 2,000 characters.", examples: ["Where does Alice live?"] })

/** Rules over a query, and over the fields of a request body as a whole, checked on decoding and written to the JSON Schema. */
import { Schema } from "effect"
import { Limits } from "./Limits.ts"

/** Exactly one of `names` is given. With more, the second of them is reported. */
export const exactlyOneOf = (...names: readonly [string, string]) =>
  Schema.makeFilter(
    (body: object) => {
      const given = givenOf(body, names)
      return given.length > 1
        ? { path: [given[1]!], issue: `give either ${quoted(names, "or")}, not both` }
        : given.length === 1
    },
    {
      expected: `either ${quoted(names, "or")}`,
      toJsonSchema: () => ({ oneOf: names.map((name) => ({ required: [name] })) })
    }
  )

/** At least one of `names`, which are all names of the object, is given. */
export const atLeastOneOf = (...names: ReadonlyArray<string>) =>
  Schema.isMinProperties(1, { expected: `at least one of ${quoted(names, "and")}` })

const givenOf = (body: object, names: ReadonlyArray<string>): ReadonlyArray<string> =>
  names.filter((name) => (body as { readonly [name: string]: unknown })[name] !== undefined)

const quoted = (names: ReadonlyArray<string>, word: string): string => {
  const [last = "", ...others] = names.map((name) => `\`${name}\``).toReversed()
  return others.length === 0 ? last : `${others.toReversed().join(", ")} ${word} ${last}`
}

/** The query; surrounding blanks are ignored. */
export const QueryText = Schema.String.check(
  Schema.makeFilter(
    (text: string) => {
      const { length } = [...text.trim()]
      return length >= 1 && length <= Limits.queryLengthMax
    },
    {
      expected: `1 to ${Limits.queryLengthMax} characters`,
      // Languages differ in what counts as blank; a byte order mark is one in JavaScript.
      toJsonSchema: () => ({ maxLength: Limits.queryLengthMax, pattern: "[^\\s\\ufeff]" })
    }
  )
).annotate({ description: "Natural-language query, 1 to 2,000 characters.", examples: ["Where does Alice live?"] })

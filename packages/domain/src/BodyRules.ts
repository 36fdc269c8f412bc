/** Rules over the fields of a request body as a whole, checked on decoding and written to the JSON Schema. */
import { Schema } from "effect"

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

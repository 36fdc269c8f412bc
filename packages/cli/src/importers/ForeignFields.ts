/** Fields of elements that other programs have written: any may be missing, of another type, or in another spelling. */

export type Fields = Readonly<Record<string, unknown>>

export const fieldsOf = (value: unknown): Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {}

export const listOf = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

/** The first text that is not empty. */
export const textOf = (...values: ReadonlyArray<unknown>): string | undefined =>
  values.find((value): value is string => typeof value === "string" && value !== "")

export const isGiven = (value: unknown): boolean =>
  value !== undefined && value !== null && value !== "" && !(Array.isArray(value) && value.length === 0)

/** The first of `names` that has a value, in snake case, in camel case, or as Python's SDKs write reserved names. */
export const fieldOf = (element: Fields, ...names: ReadonlyArray<string>): unknown =>
  names
    .flatMap(spellings)
    .map((name) => element[name])
    .find(isGiven)

const spellings = (name: string): ReadonlyArray<string> => [name, camelCase(name), `${name}_`]

const camelCase = (name: string): string => name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** Fields that have a value and are none of `read`. */
export const unreadFields = (element: Fields, read: ReadonlyArray<string>): Fields => {
  const known = new Set(read.flatMap(spellings))
  return Object.fromEntries(Object.entries(element).filter(([name, value]) => !known.has(name) && isGiven(value)))
}

/** Texts of a message's parts; pictures and calls of tools have none. */
export const partsText = (parts: unknown): string =>
  listOf(parts)
    .map((part) => (typeof part === "string" ? part : textOf(fieldsOf(part)["text"])))
    .filter((part) => part !== undefined && part.trim() !== "")
    .join("\n")

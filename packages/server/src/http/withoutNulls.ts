/**
 * `null` for a field that may be absent is as if the field were absent (contract: Conventions), in bodies and in the
 * arguments of tools: languages without a value for "not given" send it. Where null has a meaning it stays, as it does
 * in objects of free form.
 */
import type { KnownNames } from "./KnownNames.ts"

/** The same object where there are no such fields. */
export const withoutNulls = (value: unknown, names: KnownNames): unknown => {
  if (Array.isArray(value)) {
    const items = value.map((item) => withoutNulls(item, names))
    return items.every((item, at) => item === value[at]) ? value : items
  }
  if (names.isFreeForm || typeof value !== "object" || value === null) return value
  const entries = Object.entries(value)
  const left = entries.flatMap(([name, inner]): ReadonlyArray<readonly [string, unknown]> => {
    if (inner === null && names.nullable.has(name)) return []
    const known = names.fields.get(name)
    return [[name, known === undefined ? inner : withoutNulls(inner, known)]]
  })
  const isSame = left.length === entries.length && left.every(([, inner], at) => inner === entries[at]![1])
  return isSame ? value : Object.fromEntries(left)
}

/**
 * Conditions for properties, each with what it means as a function of its own: `Where.ts` and the text that SQLite looks
 * for are compared with these.
 */
import type { Schema } from "effect"
import fc from "fast-check"
import type { JsonObject } from "@muniment/domain/Memory"
import type { FieldTest, WhereValue } from "@muniment/domain/Where"

export interface WhereCase {
  readonly where: JsonObject
  readonly holds: (memory: { readonly data: JsonObject; readonly metadata?: JsonObject | undefined }) => boolean
}

type Values = ReadonlyArray<unknown>

/** `own` is what stands at the path: the values of a list, one value, or none. */
const testsOf: Readonly<Record<string, (own: Values, wanted: never) => boolean>> = {
  eq: (own, wanted: unknown) => own.includes(wanted),
  ne: (own, wanted: unknown) => !own.includes(wanted),
  in: (own, wanted: Values) => wanted.some((one) => own.includes(one)),
  gt: (own, wanted: number | string) =>
    own.some((one) => typeof one === typeof wanted && (one as typeof wanted) > wanted),
  gte: (own, wanted: number | string) =>
    own.some((one) => typeof one === typeof wanted && (one as typeof wanted) >= wanted),
  lt: (own, wanted: number | string) =>
    own.some((one) => typeof one === typeof wanted && (one as typeof wanted) < wanted),
  lte: (own, wanted: number | string) =>
    own.some((one) => typeof one === typeof wanted && (one as typeof wanted) <= wanted)
}

/** Leaves are of `root` and one or two `names`; `scalar` gives values. */
export const whereCases = (
  roots: ReadonlyArray<"data" | "metadata">,
  names: ReadonlyArray<string>,
  scalar: fc.Arbitrary<WhereValue>
): fc.Arbitrary<WhereCase> => {
  const ordered = scalar.filter((value) => typeof value === "string" || typeof value === "number")
  const test: fc.Arbitrary<readonly [FieldTest, Schema.Json]> = fc.oneof(
    fc.tuple(fc.constantFrom("eq" as const, "ne" as const), scalar),
    fc.tuple(fc.constant("in" as const), fc.array(scalar, { minLength: 1, maxLength: 10 })),
    fc.tuple(fc.constantFrom("gt" as const, "gte" as const, "lt" as const, "lte" as const), ordered),
    fc.tuple(fc.constant("exists" as const), fc.boolean())
  )
  const leaf = fc
    .tuple(fc.constantFrom(...roots), fc.array(fc.constantFrom(...names), { minLength: 1, maxLength: 2 }), test)
    .map(([root, path, [name, wanted]]): WhereCase => ({
      where: { [`${root}.${path.join(".")}`]: { [name]: wanted } },
      holds: (memory) => {
        const found = path.reduce<unknown>(
          (at, step) =>
            typeof at === "object" && at !== null && !Array.isArray(at)
              ? Object.entries(at).find(([own]) => own === step)?.[1]
              : undefined,
          memory[root]
        )
        if (name === "exists") return (found !== undefined) === wanted
        return testsOf[name]!(Array.isArray(found) ? found : found === undefined ? [] : [found], wanted as never)
      }
    }))
  const { one } = fc.letrec<{ one: WhereCase }>((tie) => ({
    one: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      leaf,
      fc.array(tie("one"), { minLength: 1, maxLength: 3 }).map((of): WhereCase => ({
        where: { and: of.map(({ where }) => where) },
        holds: (memory) => of.every(({ holds }) => holds(memory))
      })),
      fc.array(tie("one"), { minLength: 1, maxLength: 3 }).map((of): WhereCase => ({
        where: { or: of.map(({ where }) => where) },
        holds: (memory) => of.some(({ holds }) => holds(memory))
      })),
      tie("one").map((of): WhereCase => ({ where: { not: of.where }, holds: (memory) => !of.holds(memory) }))
    )
  }))
  return one
}

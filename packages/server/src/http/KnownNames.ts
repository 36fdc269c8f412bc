/**
 * The names that a request may use, read from the schemas of the contract. A name that is not known is refused or
 * ignored: an ignored `subject_id` would answer with the memories of every subject.
 *
 * - In a query string and in an object `filters`, every unknown name is refused.
 * - Elsewhere in a body a name is refused if it equals a known one but for case, underscores, hyphens or plural, or if
 *   it is one of `agentId`, `subjectId`, `threadId`, `filters` and this body takes it in another place.
 * - Other unknown names are ignored, and listed by their place.
 * - Objects of free form, such as the data of a memory, are not looked at.
 * - A request with more than `Limits.unknownNamesMax` unknown names is refused: looking at each takes the event loop.
 */
import { type Schema, SchemaAST } from "effect"
import type { ErrorDetail } from "@muniment/domain/Errors"
import { faultText, InvalidRequest } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import type { JsonObject } from "@muniment/domain/Memory"

/** The names of an object, or of each object of a list. */
export interface KnownNames {
  readonly fields: ReadonlyMap<string, KnownNames | undefined>
  /** Names for which null means absent. */
  readonly nullable: ReadonlySet<string>
  /** Any name is data. */
  readonly isFreeForm: boolean
  readonly isStrict: boolean
  /** Folded name -> the name that it stands for. */
  readonly folded: ReadonlyMap<string, string>
  /** The narrowing names in it, folded, with the place of each. */
  readonly narrowing: ReadonlyMap<string, string>
}

export interface NameCheck {
  /** Why the request is refused; at most `Limits.errorDetailsMax`. */
  readonly refused: ReadonlyArray<ErrorDetail>
  /** Places of ignored names, without indexes of lists; at most `Limits.ignoredFieldsListedMax`. */
  readonly ignored: ReadonlySet<string>
}

/** In `strict` objects every unknown name is refused. */
export const knownNames = (schema: Schema.Top | undefined, mode: "strict" | "lenient"): KnownNames | undefined =>
  schema === undefined
    ? mode === "strict"
      ? namesOf([], true)
      : undefined
    : namesIn(SchemaAST.toEncoded(schema.ast), mode === "strict")

export const checkNames = (value: unknown, names: KnownNames): NameCheck => {
  const check: Findings = { refused: [], ignored: new Set(), unknown: 0 }
  visit(value, names, { path: "", place: "" }, names.narrowing, check)
  return check
}

/** The refusal of a request with unknown names; undefined when there are none. */
export const unknownNames = ({ refused }: NameCheck): InvalidRequest | undefined => {
  const [first] = refused
  return first === undefined
    ? undefined
    : new InvalidRequest({ code: "unknown_parameter", error: faultText(first), details: refused })
}

/** The known name that equals `name` but for case, underscores, hyphens or plural. */
export const lookAlike = (name: string, known: Iterable<string>): string | undefined => {
  const folded = fold(name)
  for (const each of known) if (fold(each) === folded) return each
  return undefined
}

/** Names that narrow a request to some memories. */
const narrowingNames: ReadonlySet<string> = new Set(["agentId", "subjectId", "threadId", "filters"])
/** Names that callers of other services use for ours. */
const synonyms: ReadonlyMap<string, string> = new Map([
  ["user", "subjectId"],
  ["userid", "subjectId"],
  ["sessionid", "threadId"],
  ["conversationid", "threadId"],
  ["runid", "threadId"],
  ["topk", "limit"],
  ["q", "query"],
  ["type", "kind"]
])

const namesIn = (ast: SchemaAST.AST, isStrict: boolean): KnownNames | undefined => {
  if (SchemaAST.isArrays(ast)) {
    const item = ast.rest[0] ?? ast.elements[0]
    return item === undefined ? undefined : namesIn(item, isStrict)
  }
  if (SchemaAST.isUnion(ast)) return ast.types.map((type) => namesIn(type, isStrict)).find((each) => each !== undefined)
  if (!SchemaAST.isObjects(ast)) return undefined
  const fields = ast.propertySignatures.map(({ name, type }) => [String(name), type] as const)
  return {
    ...namesOf(
      fields.map(([name, type]) => [name, namesIn(type, isStrict || name === "filters")] as const),
      isStrict,
      fields.length === 0 && ast.indexSignatures.length > 0
    ),
    nullable: new Set(fields.flatMap(([name, type]) => (SchemaAST.isOptional(type) && !takesNull(type) ? [name] : [])))
  }
}

/** Types that this cannot tell take null as far as it knows. */
const takesNull = (ast: SchemaAST.AST): boolean => {
  if (SchemaAST.isUnion(ast)) return ast.types.some(takesNull)
  if (SchemaAST.isLiteral(ast)) return ast.literal === null
  const isOther = SchemaAST.isString(ast) || SchemaAST.isNumber(ast) || SchemaAST.isBoolean(ast)
  return !(isOther || SchemaAST.isArrays(ast) || SchemaAST.isObjects(ast))
}

const namesOf = (
  fields: ReadonlyArray<readonly [string, KnownNames | undefined]>,
  isStrict: boolean,
  isFreeForm = false
): KnownNames => ({
  fields: new Map(fields),
  nullable: new Set(),
  isFreeForm,
  isStrict,
  folded: new Map(fields.map(([name]) => [fold(name), name])),
  narrowing: narrowingIn(fields)
})

const narrowingIn = (fields: ReadonlyArray<readonly [string, KnownNames | undefined]>): ReadonlyMap<string, string> =>
  new Map(
    fields.flatMap(([name, inner]): ReadonlyArray<readonly [string, string]> => [
      ...Array.from(inner?.narrowing ?? [], ([folded, place]) => [folded, `${name}/${place}`] as const),
      ...(narrowingNames.has(name) ? [[fold(name), name] as const] : [])
    ])
  )

interface Place {
  /** JSON pointer. */
  readonly path: string
  /** The same without indexes of lists and without the first slash. */
  readonly place: string
}

interface Findings {
  readonly refused: Array<ErrorDetail>
  readonly ignored: Set<string>
  unknown: number
}

const visit = (
  value: unknown,
  names: KnownNames,
  at: Place,
  narrowing: ReadonlyMap<string, string>,
  check: Findings
): void => {
  if (Array.isArray(value)) {
    // Longer lists of objects are refused by the contract, before their items are read.
    value
      .slice(0, Limits.listItemsCheckedMax)
      .forEach((item, index) => visit(item, names, { ...at, path: `${at.path}/${index}` }, narrowing, check))
    return
  }
  if (names.isFreeForm || typeof value !== "object" || value === null) return
  for (const name of Object.keys(value)) {
    const known = names.fields.get(name)
    if (known !== undefined) visit((value as JsonObject)[name], known, inside(at, name), narrowing, check)
    if (names.fields.has(name)) continue
    if (++check.unknown > Limits.unknownNamesMax) {
      check.refused.push({ path: at.path, message: `more than ${Limits.unknownNamesMax} unknown names` })
      return
    }
    const message = refusal(name, names, narrowing)
    if (message === undefined) {
      if (check.ignored.size <= Limits.ignoredFieldsListedMax) check.ignored.add(inside(at, name).place)
    } else if (check.refused.length < Limits.errorDetailsMax) {
      check.refused.push({ path: inside(at, name).path, message })
    }
  }
}

const inside = ({ path, place }: Place, name: string): Place => ({
  path: `${path}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`,
  place: place === "" ? name : `${place}/${name}`
})

const refusal = (name: string, names: KnownNames, narrowing: ReadonlyMap<string, string>): string | undefined => {
  const folded = fold(name)
  const same = names.folded.get(folded)
  if (same !== undefined) return `unknown name; did you mean "${same}"?`
  if (names.isStrict) {
    const known = [...names.fields.keys()]
    return known.length === 0
      ? "unknown name; none is known here"
      : `unknown name; the nearest known one is "${nearest(folded, known)}" of ${known.join(", ")}`
  }
  const elsewhere = narrowing.get(folded)
  return elsewhere === undefined ? undefined : belongsIn(elsewhere)
}

/** `at` is a place such as `agentId`, or `queries/filters/agentId`. */
const belongsIn = (at: string): string => {
  const where = at.includes("/") ? `give it as "${at}"` : `"${at}" belongs at the top of the body`
  return `not known in this place: ${where}`
}

/** Lower case, without underscores, hyphens and plural: `subject_id` and `subjectIDs` are `subjectid`. */
const fold = (name: string): string =>
  name
    .slice(0, Limits.identifierLengthMax)
    .toLowerCase()
    .replaceAll(/[_-]/g, "")
    .replace(/ies$/, "y")
    .replace(/(?<=.)s$/, "")

const nearest = (folded: string, known: ReadonlyArray<string>): string => {
  const meant = synonyms.get(folded)
  if (meant !== undefined && known.includes(meant)) return meant
  const ranked = known.map((name) => ({ name, edits: editDistance(folded, fold(name)) }))
  return ranked.toSorted((left, right) => left.edits - right.edits)[0]!.name
}

/** Levenshtein distance, one row of the table at a time. */
const editDistance = (from: string, to: string): number => {
  let row = Array.from({ length: to.length + 1 }, (_, at) => at)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++) {
      const replaced = row[j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1)
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1))
    }
    row = next
  }
  return row[to.length]!
}

/**
 * Faults in the fields of a request, one sentence for each place, for people who know their request and not our
 * schemas: types by their JSON names, bounds as they are counted, choices as a list. Values are never quoted, as they
 * may be content, but for times.
 */
import { type SchemaIssue, SchemaAST } from "effect"

/** Keys that lead to the place, and what is wrong there. */
export interface FieldFault {
  readonly path: ReadonlyArray<PropertyKey>
  readonly message: string
}

export const fieldFaults = (issue: SchemaIssue.Issue): ReadonlyArray<FieldFault> => faultsOf(issue, [], undefined)

const faultsOf = (
  issue: SchemaIssue.Issue,
  path: ReadonlyArray<PropertyKey>,
  within: SchemaAST.AST | undefined
): ReadonlyArray<FieldFault> => {
  switch (issue._tag) {
    case "Pointer":
      return faultsOf(issue.issue, [...path, ...issue.path], undefined)
    case "Encoding":
      return faultsOf(issue.issue, path, issue.ast)
    case "Composite":
      return issue.issues.flatMap((inner) => faultsOf(inner, path, issue.ast))
    case "AnyOf":
      return issue.issues.length > 0
        ? meantOf(issue.issues).flatMap((inner) => faultsOf(inner, path, undefined))
        : [{ path, message: wantedFor(issue) }]
    case "Filter":
      // A rule over several fields names the one that is wrong.
      return issue.issue._tag === "Pointer"
        ? faultsOf(issue.issue, path, within)
        : [
            {
              path,
              message: saidBy(issue.issue) ?? saidBy(issue.filter) ?? `expected ${boundText(issue.filter, within)}`
            }
          ]
    case "MissingKey":
      return [missing(path)]
    case "UnexpectedKey":
      return [{ path, message: "unknown name" }]
    case "InvalidType":
      return [{ path, message: wantedFor(issue) }]
    default:
      return [{ path, message: saidBy(issue) ?? "not valid" }]
  }
}

/** The forms of a value that do not refuse a field of it; all where each does. */
const meantOf = (forms: ReadonlyArray<SchemaIssue.Issue>): ReadonlyArray<SchemaIssue.Issue> => {
  const meant = forms.filter((form) => !refusesField(form))
  return meant.length > 0 ? meant : forms
}

const refusesField = (form: SchemaIssue.Issue): boolean =>
  form._tag === "Composite"
    ? form.issues.some(refusesField)
    : form._tag === "Pointer" && form.issue._tag === "InvalidType" && SchemaAST.isNever(form.issue.ast)

/** A list that must have an entry lacks the first one. */
const missing = (path: ReadonlyArray<PropertyKey>): FieldFault => {
  const last = path.at(-1)
  return typeof last === "number" || /^\d+$/.test(String(last))
    ? { path: path.slice(0, -1), message: "expected at least 1 entry" }
    : { path, message: "is missing" }
}

const saidBy = (said: object): string | undefined => {
  const { annotations } = said as { readonly annotations?: { readonly message?: unknown } | undefined }
  return typeof annotations?.message === "string" ? annotations.message : undefined
}

/** Text of the contract for a text, a number or a choice; Effect's own words are about schemas. */
const annotated = (ast: SchemaAST.AST): string | undefined => {
  const { expected } = (ast.checks?.at(-1)?.annotations ?? ast.annotations ?? {}) as { readonly expected?: unknown }
  return typeof expected === "string" && !ofSchemas.test(expected) ? expected : undefined
}
const ofSchemas = /^(?:a value|a string|an integer|a finite number)\b/

/** The type that is wanted, and what was probably meant, as the contract says it of a value of another type. */
const wantedFor = ({ ast, input }: SchemaIssue.AnyOf | SchemaIssue.InvalidType): string => {
  const meant = [ast, ...membersOf(ast)]
    .flatMap((type) => [type, ...(type.checks ?? [])])
    .map(({ annotations }) => annotations?.["meantBy"])
    .find((meantBy) => typeof meantBy === "function")?.(input)
  return [`expected ${wanted(ast)}`, ...(typeof meant === "string" ? [meant] : [])].join("; ")
}

/** A value of this type, in words. */
const wanted = (ast: SchemaAST.AST): string => {
  if (SchemaAST.isArrays(ast)) return `a list${ofItems(ast.rest[0] ?? ast.elements[0])}`
  if (SchemaAST.isObjects(ast)) return "an object"
  const own = annotated(ast)
  if (own !== undefined) return own
  if (SchemaAST.isUnion(ast)) return anyOf(ast.types)
  if (SchemaAST.isLiteral(ast)) return `\`${String(ast.literal)}\``
  if (SchemaAST.isString(ast)) return "a text"
  if (SchemaAST.isNumber(ast)) return ast.checks?.some(isInteger) ? "a whole number" : "a number"
  if (SchemaAST.isBoolean(ast)) return "true or false"
  return SchemaAST.isNull(ast) ? "null" : "another value"
}

const ofItems = (item: SchemaAST.AST | undefined): string =>
  item === undefined ? "" : SchemaAST.isString(item) ? " of texts" : SchemaAST.isObjects(item) ? " of objects" : ""

const anyOf = (types: ReadonlyArray<SchemaAST.AST>): string => {
  const names = [...new Set(types.flatMap(membersOf).map(wanted))]
  const last = names.pop() ?? "nothing"
  return names.length === 0 ? last : `${names.join(", ")} or ${last}`
}

const membersOf = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.AST> =>
  SchemaAST.isUnion(ast) && annotated(ast) === undefined ? ast.types.flatMap(membersOf) : [ast]

interface Checked {
  readonly annotations?: object | undefined
}

/** Name and bounds that Effect keeps of a check. */
const ruleOf = (check: Checked): { readonly id: string; readonly payload: Readonly<Record<string, unknown>> } => {
  const { representation } = (check.annotations ?? {}) as {
    readonly representation?: { readonly id?: string; readonly payload?: Readonly<Record<string, unknown>> | null }
  }
  return { id: representation?.id ?? "", payload: representation?.payload ?? {} }
}

const isInteger = (check: Checked): boolean => ruleOf(check).id.endsWith("/isInt")

/** The bound that a value broke, together with the other bounds of its type. */
const boundText = (filter: Checked, within: SchemaAST.AST | undefined): string => {
  const { expected } = (filter.annotations ?? {}) as { readonly expected?: unknown }
  if (typeof expected === "string" && !ofSchemas.test(expected)) return expected
  const { id, payload } = ruleOf(filter)
  const isWhole = within?.checks?.some(isInteger) === true
  const number = isWhole ? "a whole number" : "a number"
  const entries = within !== undefined && SchemaAST.isArrays(within) ? "entries" : "characters"
  if (isInteger(filter)) return "a whole number"
  if (id.endsWith("/isStringFinite") || id.endsWith("/isFinite")) return "a number"
  if (payload["maxCodePoints"] !== undefined) return `at most ${shown(payload["maxCodePoints"])} characters`
  if (payload["maxLength"] !== undefined) return `at most ${shown(payload["maxLength"])} ${entries}`
  if (payload["minLength"] !== undefined) return entries === "entries" ? "at least 1 entry" : "a text that is not empty"
  if (payload["maximum"] !== undefined && payload["minimum"] !== undefined) {
    return `${number} from ${shown(payload["minimum"])} to ${shown(payload["maximum"])}`
  }
  if (payload["minimum"] !== undefined) return `${number}, at least ${shown(payload["minimum"])}`
  if (payload["maximum"] !== undefined) return `${number}, at most ${shown(payload["maximum"])}`
  if (payload["maxProperties"] !== undefined) return `at most ${shown(payload["maxProperties"])} fields`
  if (payload["minProperties"] !== undefined) return "at least 1 field"
  return "another value"
}

const shown = (bound: unknown): string => String(bound)

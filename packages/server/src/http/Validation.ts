/**
 * The request's JSON, names and fields. Raw text is inspected before it is parsed, because `JSON.parse`
 * accepts duplicate keys, `__proto__` and unsafe integers and alters them; names that the contract does not know are
 * refused or listed (`KnownNames`); failures of the contract's schemas become `InvalidRequest` with the code of the
 * field that is wrong.
 */
import { Effect, Layer, Result, type Schema, type SchemaIssue, type Types } from "effect"
import { HttpMethod, HttpServerRequest, HttpServerResponse } from "effect/http"
import { type HttpApiEndpoint, HttpApiMiddleware } from "effect/http-api"
import { hasClosedBody, Validation, WellFormedRequest } from "@muniment/domain/api/Middleware"
import { faultText, InternalError, InvalidRequest, type InvalidRequestCode } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import { inspectJson } from "@muniment/trust/JsonText"
import { type FieldFault, fieldFaults } from "./FieldFaults.ts"
import { checkNames, knownNames, type KnownNames, type NameCheck, unknownNames } from "./KnownNames.ts"

export const wellFormedRequest = Layer.succeed(WellFormedRequest, (handler, { endpoint }) => {
  const inQuery = knownNames(endpoint.query, "strict")
  const inBody = knownNames(bodySchema(endpoint), hasClosedBody(endpoint) ? "strict" : "lenient")
  const hasBody = HttpMethod.hasBody(endpoint.method)
  return Effect.flatMap(HttpServerRequest.HttpServerRequest, (request): Checked => {
    const unknown = inQuery === undefined ? undefined : unknownNames(checkNames(queryOf(request.url), inQuery))
    if (unknown !== undefined) return Effect.fail(unknown)
    const repeated = repeatedParameter(request.url)
    if (repeated !== undefined) return Effect.fail(repeated)
    if (!hasBody) return handler
    return Effect.flatMap(Effect.orDie(request.arrayBuffer), (bytes): Checked => {
      if (bytes.byteLength === 0) return handler
      const body = readBody(bytes)
      if (Result.isFailure(body)) return Effect.fail(body.failure)
      if (inBody === undefined) return handler
      const check = checkNames(body.success, inBody)
      const refused = unknownNames(check)
      if (refused !== undefined) return Effect.fail(refused)
      const given = withoutNulls(body.success, inBody)
      const inside =
        given === body.success
          ? handler
          : Effect.provideService(handler, HttpServerRequest.HttpServerRequest, withJson(request, given))
      return check.ignored.size === 0 ? inside : Effect.map(inside, withIgnored(check))
    })
  })
})

type Checked = Effect.Effect<HttpServerResponse.HttpServerResponse, InvalidRequest | Types.unhandled>

const withIgnored =
  ({ ignored }: NameCheck) =>
  (response: HttpServerResponse.HttpServerResponse) =>
    HttpServerResponse.setHeader(response, "x-ignored-fields", listed(ignored))

/** The request with this body for its handler. Its bytes stay as they came: what covers them is checked by them. */
const withJson = (request: HttpServerRequest.HttpServerRequest, json: unknown): HttpServerRequest.HttpServerRequest =>
  Object.create(request, { text: { value: Effect.succeed(JSON.stringify(json)) } })

const bodySchema = ({ payload }: HttpApiEndpoint.Top): Schema.Top | undefined =>
  payload.get("application/json")?.schemas[0]

/** Whether a body of the operation may ask for a rehearsal that changes nothing. */
export const hasDryRun = (endpoint: HttpApiEndpoint.Top): boolean =>
  knownNames(bodySchema(endpoint), "lenient")?.fields.has("dryRun") ?? false

const parametersOf = (url: string): ReadonlyArray<string> => {
  const at = url.indexOf("?")
  return at < 0 ? [] : [...new URLSearchParams(url.slice(at + 1)).keys()]
}

const queryOf = (url: string): Readonly<Record<string, string>> =>
  Object.fromEntries(parametersOf(url).map((name) => [name, ""]))

/** No parameter is a list by being repeated; which of two is meant, nothing says. */
const repeatedParameter = (url: string): InvalidRequest | undefined => {
  const names = parametersOf(url)
  const repeated = names.find((name, at) => names.indexOf(name) < at)
  if (repeated === undefined) return undefined
  const detail = { path: `/${repeated}`, message: "is given more than once; lists are separated by commas" }
  return new InvalidRequest({ code: "invalid_request", error: faultText(detail), details: [detail] })
}

/** A header holds ASCII only, and has to stay short. */
const listed = (ignored: ReadonlySet<string>): string => {
  const places = [...ignored].map((place) =>
    encodeURI(place.toWellFormed().slice(0, Limits.identifierLengthMax)).replaceAll(",", "%2C")
  )
  return places.length <= Limits.ignoredFieldsListedMax
    ? places.join(", ")
    : `${places.slice(0, Limits.ignoredFieldsListedMax).join(", ")}, ...`
}

const decoder = new TextDecoder("utf-8", { fatal: true })

/** Value of the bytes, if JSON can say it without a loss. */
export const readBody = (bytes: ArrayBuffer): Result.Result<unknown, InvalidRequest> => {
  const text = Result.try({ try: () => decoder.decode(bytes), catch: () => invalidJson("the body is not UTF-8") })
  return Result.flatMap(text, (json) => {
    const finding = inspectJson(json, {
      depthMax: Limits.jsonDepthMax,
      keysMax: Limits.jsonObjectKeysMax,
      valuesMax: Limits.jsonValuesMax
    })
    return finding === undefined
      ? Result.try({ try: (): unknown => JSON.parse(json), catch: () => invalidJson("the body is not JSON") })
      : Result.fail(
          invalidJson(
            `the body has a JSON value that cannot be kept as it is: ${faultNames[finding.reason]}`,
            finding.path
          )
        )
  })
}

const faultNames = {
  too_deep: `nested more than ${Limits.jsonDepthMax} levels deep`,
  too_many_keys: `an object of more than ${Limits.jsonObjectKeysMax} keys`,
  too_many_values: `more than ${Limits.jsonValuesMax} values`,
  duplicate_key: "a key stands twice in one object",
  prototype_key: "the key __proto__",
  lone_surrogate: "half of a surrogate pair",
  unsafe_integer: "an integer beyond 2^53",
  infinite_number: "a number too large for a double"
} as const

const invalidJson = (error: string, path?: string) =>
  new InvalidRequest({
    code: "invalid_json",
    error,
    ...(path !== undefined && { details: [{ path, message: error }] })
  })

export const validation = HttpApiMiddleware.layerSchemaErrorTransform(Validation, (failure, { group }) => {
  if (failure.kind === "Body" || failure.kind === "ResponseHeaders") {
    // Our own answer does not fit the contract: a defect, and the answer may hold memory content.
    return Effect.andThen(
      Effect.logError("an answer does not fit the contract", { paths: pathsOf(failure.cause) }),
      Effect.fail(
        new InternalError({ code: "internal_error", error: "the service made an answer that is against its contract" })
      )
    )
  }
  return Effect.fail(invalidFields(failure.cause, group.identifier))
})

/** Faults in the fields of a request to an endpoint of `group`. */
export const invalidFields = ({ issue: cause }: Schema.SchemaError, group: string): InvalidRequest => {
  const details = fieldFaults(cause).map(({ message, path }) => ({ path: pointerOf(path), message }))
  return new InvalidRequest({
    code: codeOf(cause, group),
    error: faultText(details[0] ?? { message: "the request is malformed" }),
    details: details.slice(0, Limits.errorDetailsMax)
  })
}

const pointerOf = (path: FieldFault["path"]): string => path.map((key) => `/${String(key)}`).join("")

const pathsOf = (error: Schema.SchemaError) => fieldFaults(error.issue).map(({ path }) => pointerOf(path))

/** Fields whose failures have a code of their own. A Map: the caller chooses the keys that are looked up. */
const codesByField: ReadonlyMap<PropertyKey, InvalidRequestCode> = new Map([
  ["ttl", "invalid_duration"],
  ["expiresIn", "invalid_duration"],
  ["expiresAt", "invalid_expiry"],
  ["tags", "invalid_tag"],
  ["filters", "invalid_filters"],
  ["amount_usd", "invalid_amount"],
  ["credits", "invalid_amount"]
])
const batchFields: ReadonlySet<PropertyKey> = new Set(["ids", "queries", "memories", "records"])
/** Fields of a schema whose rules are those of `invalid_schema`; absent or of another type is `invalid_request`. */
const schemaFields: ReadonlySet<PropertyKey> = new Set(["name", "schema", "uniqueOn"])

const codeOf = (failure: SchemaIssue.Issue, group: string): InvalidRequestCode => {
  const { keys, leaf } = firstLeaf(failure)
  const [field] = keys
  if (field !== undefined && leaf._tag === "Filter") {
    if (keys.length === 1 && batchFields.has(field) && isLengthBound(leaf)) return "batch_too_large"
    if (group === "schemas" && schemaFields.has(field)) return "invalid_schema"
  }
  for (const key of keys.toReversed()) {
    const code = codesByField.get(key)
    if (code !== undefined) return code
  }
  return "invalid_request"
}

/** The first thing that is wrong, and the keys that lead to it. */
const firstLeaf = (
  issue: SchemaIssue.Issue,
  keys: ReadonlyArray<PropertyKey> = []
): { readonly keys: ReadonlyArray<PropertyKey>; readonly leaf: SchemaIssue.Issue } => {
  switch (issue._tag) {
    case "Pointer":
      return firstLeaf(issue.issue, [...keys, ...issue.path])
    case "Encoding":
      return firstLeaf(issue.issue, keys)
    case "Filter":
      // A rule over several fields names the one that is wrong.
      return issue.issue._tag === "Pointer" ? firstLeaf(issue.issue, keys) : { keys, leaf: issue }
    case "Composite":
    case "AnyOf": {
      const [first] = issue.issues
      return first === undefined ? { keys, leaf: issue } : firstLeaf(first, keys)
    }
    default:
      return { keys, leaf: issue }
  }
}

const isLengthBound = (leaf: SchemaIssue.Filter): boolean =>
  JSON.stringify(leaf.filter.annotations?.["representation"] ?? "").includes("isMaxLength")

/**
 * `null` for a field that may be absent is as if the field were absent (contract: Conventions), in bodies and in the
 * arguments of tools: languages without a value for "not given" send it. Where null has a meaning it stays, as it does
 * in objects of free form.
 */

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

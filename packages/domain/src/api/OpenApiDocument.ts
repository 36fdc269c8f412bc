/**
 * The OpenAPI 3.1 document of the contract. What the generator leaves out or gets wrong is corrected here, so that
 * clients generated from the document compile and accept what the service accepts:
 * - query parameters travel as text, so the generator calls numbers strings: they get the type that they decode to;
 * - lists lose `prefixItems`, which the generator writes for "at least one";
 * - an `allOf` of one schema becomes part of the schema around it, so that tools see formats and descriptions;
 * - free-form objects say `additionalProperties: true`; closed are `filters` of requests, and bodies of changes;
 * - a body with a choice of fields becomes a choice of bodies: generators give `any` for the former;
 * Each answer has an example: what a service gave to the example of its request (`answerExamples.json`).
 */
import { Schema } from "effect"
import { type HttpApiEndpoint, OpenApi } from "effect/http-api"
import answers from "./answerExamples.json" with { type: "json" }
import { MunimentApi } from "./MunimentApi.ts"
import { hasClosedBody } from "./Middleware.ts"
import { roleNeeded } from "./OperatorRoles.ts"

type Operation = OpenApi.OpenAPISpecOperation
type JsonSchema = { readonly [keyword: string]: unknown }

/** The document; `serverUrl` is the origin of the service as its clients reach it. */
export const openApiDocument = (serverUrl = "/"): OpenApi.OpenAPISpec => {
  const document = OpenApi.fromApi(MunimentApi)
  for (const group of Object.values(MunimentApi.groups)) {
    for (const endpoint of Object.values(group.endpoints)) {
      const path = document.paths[endpoint.path.replace(/:(\w+)/g, "{$1}")]
      const operation = path?.[endpoint.method.toLowerCase() as "get"]
      if (operation === undefined) continue
      correct(operation, endpoint)
      if (endpoint.path.startsWith("/admin/"))
        Object.assign(operation, { "x-operator-role": roleNeeded(`${group.identifier}.${endpoint.identifier}`) })
    }
  }
  for (const [name, schema] of Object.entries(document.components.schemas)) {
    document.components.schemas[name] = responseSchema(schema)
  }
  for (const scheme of Object.values(document.components.securitySchemes)) {
    // Some tools compare the name of the scheme letter by letter.
    if (scheme.type === "http") Object.assign(scheme, { scheme: scheme.scheme.toLowerCase() })
  }
  document.components.securitySchemes["wallet"] = walletScheme
  return { ...document, servers: [{ url: serverUrl }] } as OpenApi.OpenAPISpec
}

/**
 * The document as JSON, for the origin that it is asked for. All else is made once: anybody may ask, and making it takes
 * the loop.
 */
export const openApiText = (make = openApiDocument): ((serverUrl: string) => string) => {
  let made: string | undefined
  return (url) => {
    made ??= JSON.stringify({ ...make(), servers: undefined }).slice(0, -1)
    return `${made},"servers":${JSON.stringify([{ url }])}}`
  }
}

/**
 * The only one with an answer 202: elsewhere that comes only to a request with a payment in its headers, and as a second
 * success every caller would have to tell it from the answer.
 */
const depositOperation = "credits.deposit"

const correct = (operation: Operation, endpoint: HttpApiEndpoint.Top): void => {
  if (operation.operationId !== depositOperation) delete operation.responses[202]
  if (takesWallets(operation)) operation.security.push({ wallet: [] })
  const types = queryTypes(endpoint.query)
  for (const parameter of operation.parameters) {
    const type = parameter.in === "query" ? types[parameter.name] : undefined
    if (type !== undefined) Object.assign(parameter, { schema: type })
  }
  if ("format" in types) {
    const answer = operation.responses[200]
    if (answer?.content !== undefined) Object.assign(answer.content, { "text/csv": { schema: { type: "string" } } })
  }
  for (const media of Object.values(operation.requestBody?.content ?? {})) {
    const isClosed = hasClosedBody(endpoint)
    Object.assign(media, { schema: choiceOfBodies(requestSchema(media.schema, isClosed)) })
    if (!isClosed) Object.assign(operation.responses[200] ?? {}, { headers: ignoredFieldsHeader })
  }
  for (const { content } of Object.values(operation.responses)) {
    for (const media of Object.values(content ?? {})) Object.assign(media, { schema: responseSchema(media.schema) })
  }
  const example = (answers as Readonly<Record<string, object>>)[`${endpoint.method} ${endpoint.path}`]
  Object.assign(operation.responses[200]?.content?.["application/json"] ?? {}, { example })
}

/** The second way to authenticate (contract: Wallet signatures); read by the same middleware as the bearer. */
const walletScheme = {
  type: "apiKey",
  in: "header",
  name: "x-wallet-signature",
  description:
    "Signature by the wallet of x-wallet-address over METHOD|PATH|BODYHASH|TIMESTAMP, the time of x-wallet-timestamp " +
    "(milliseconds, within 120 s): EVM EIP-191 in hex, or Solana Ed25519 in Base64. With the service's origin in " +
    "x-wallet-audience over METHOD|PATH|BODYHASH|TIMESTAMP|ORIGIN|HEADERSHASH, which no other service accepts. " +
    "A bearer on the same request wins."
} satisfies OpenApi.OpenAPISecurityScheme

const ignoredFieldsHeader = {
  "x-ignored-fields": {
    description:
      "Fields of the body that were ignored because the contract does not know them: places such as `model` or " +
      "`conversation/name`, separated by commas. Absent when all were known.",
    schema: { type: "string" }
  }
}

/** Operator routes take their token only. */
const takesWallets = (operation: Operation): boolean => operation.security.some((scheme) => "bearer" in scheme)

const queryTypes = (query: Schema.Top | undefined): Readonly<Record<string, object>> => {
  if (query === undefined) return {}
  const { schema } = Schema.toJsonSchemaDocument(Schema.toType(query))
  return (responseSchema(schema).properties ?? {}) as Readonly<Record<string, object>>
}

/** Objects stay closed as a whole, or below a property `filters`. */
const requestSchema = (schema: object, isClosed: boolean): JsonSchema =>
  rewritten(schema, (node, place) => {
    const { additionalProperties, ...open } = freeForm(node)
    return isClosed || place.includes("filters") || additionalProperties !== false ? freeForm(node) : open
  })

/** Accepts what `schema` accepts: `oneOf` with names of fields, or with values of fields and names that these need. */
const choiceOfBodies = (schema: JsonSchema): JsonSchema => {
  const { additionalProperties, oneOf, properties, required = [], type, ...rest } = schema
  if (oneOf === undefined || properties === undefined) return schema
  const choices = oneOf as ReadonlyArray<Choice>
  const alternatives = choices.map((choice) => {
    const others = choice.properties === undefined ? choices.flatMap((one) => (one === choice ? [] : one.required)) : []
    const own = Object.entries(properties as Readonly<Record<string, JsonSchema>>).flatMap(([name, field]) => {
      const value = choice.properties?.[name]?.const
      return others.includes(name) ? [] : [[name, value === undefined ? field : { ...field, enum: [value] }] as const]
    })
    return {
      type,
      properties: Object.fromEntries(own),
      required: [...(required as ReadonlyArray<string>), ...choice.required],
      ...(additionalProperties !== undefined && { additionalProperties }),
      ...(others.length > 0 && { not: { required: others } })
    }
  })
  return { ...rest, oneOf: alternatives }
}

/** Fields that are needed, alone or where others have a value. */
interface Choice {
  readonly properties?: Readonly<Record<string, { readonly const: string }>>
  readonly required: ReadonlyArray<string>
}

const responseSchema = <S extends object>(schema: S): S => rewritten(schema, freeForm) as S

const freeForm = (node: JsonSchema): JsonSchema =>
  node["type"] === "object" && node["properties"] === undefined && node["additionalProperties"] === undefined
    ? { ...node, additionalProperties: true }
    : node

/** Keywords whose value is data, not a schema. */
const dataKeywords: ReadonlySet<string> = new Set(["examples", "enum", "const", "default", "required"])

/** Each schema within a schema, changed from the outside in; `place` holds the names of the properties above it. */
const rewritten = (
  schema: object,
  change: (node: JsonSchema, place: ReadonlyArray<string>) => JsonSchema,
  place: ReadonlyArray<string> = []
): JsonSchema => {
  const { prefixItems, ...node } = change(withoutSingleAllOf(schema as JsonSchema), place)
  const kept = prefixItems === undefined || node["items"] !== undefined ? node : { ...node, prefixItems }
  return Object.fromEntries(
    Object.entries(kept).map(([keyword, value]) => [
      keyword,
      keyword === "properties"
        ? Object.fromEntries(
            Object.entries(value as Record<string, object>).map(([name, inner]) => [
              name,
              rewritten(inner, change, [...place, name])
            ])
          )
        : dataKeywords.has(keyword)
          ? value
          : inside(value, change, place)
    ])
  )
}

const withoutSingleAllOf = (schema: JsonSchema): JsonSchema => {
  const { allOf, ...node } = schema
  const [only, ...more] = Array.isArray(allOf) ? (allOf as ReadonlyArray<JsonSchema>) : []
  const isMergeable =
    only !== undefined && more.length === 0 && Object.keys(only).every((keyword) => !(keyword in node))
  return isMergeable ? { ...node, ...only } : schema
}

const inside = (
  value: unknown,
  change: (node: JsonSchema, place: ReadonlyArray<string>) => JsonSchema,
  place: ReadonlyArray<string>
): unknown => {
  if (Array.isArray(value)) return value.map((item) => inside(item, change, place))
  return typeof value === "object" && value !== null ? rewritten(value, change, place) : value
}

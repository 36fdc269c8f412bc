/**
 * The OpenAPI 3.1 document of the contract. Query parameters travel as text, so the generator calls
 * numbers strings; here each one gets the type, bounds and description that it decodes to.
 */
import { Schema } from "effect"
import { OpenApi } from "effect/http-api"
import { MunimentApi } from "./MunimentApi.ts"

interface QueryParameter {
  readonly in: string
  readonly name: string
  schema: object
}

/** The document, complete with the types of query parameters. */
export const openApiDocument = (): OpenApi.OpenAPISpec => {
  const document = OpenApi.fromApi(MunimentApi)
  for (const group of Object.values(MunimentApi.groups)) {
    for (const endpoint of Object.values(group.endpoints)) {
      const path = document.paths[endpoint.path.replace(/:(\w+)/g, "{$1}")]
      const operation = path?.[endpoint.method.toLowerCase() as "get"]
      if (operation !== undefined && takesWallets(operation)) operation.security.push({ wallet: [] })
      const parameters = path?.[endpoint.method.toLowerCase() as "get"]?.parameters ?? []
      const types = queryTypes(endpoint.query)
      for (const parameter of parameters as ReadonlyArray<QueryParameter>) {
        const type = parameter.in === "query" ? types[parameter.name] : undefined
        if (type !== undefined) parameter.schema = type
      }
    }
  }
  document.components.securitySchemes["wallet"] = walletScheme
  return document
}

/** The second way in (interface.md section 2): the contract's middleware reads it beside the bearer. */
const walletScheme = {
  type: "apiKey",
  in: "header",
  name: "x-wallet-signature",
  description:
    "Signature by the wallet of x-wallet-address over METHOD|PATH|BODYHASH|TIMESTAMP, the time of x-wallet-timestamp " +
    "(milliseconds, within 120 s): EVM EIP-191 in hex, or Solana Ed25519 in Base64. A bearer on the same request wins."
} satisfies OpenApi.OpenAPISecurityScheme

/** Operator routes take their token only. */
const takesWallets = (operation: OpenApi.OpenAPISpecOperation): boolean =>
  operation.security.some((scheme) => "bearer" in scheme)

const queryTypes = (query: Schema.Top | undefined): Readonly<Record<string, object>> => {
  if (query === undefined) return {}
  const { schema } = Schema.toJsonSchemaDocument(Schema.toType(query))
  return (schema.properties ?? {}) as Readonly<Record<string, object>>
}

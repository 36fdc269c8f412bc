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
      const parameters = path?.[endpoint.method.toLowerCase() as "get"]?.parameters ?? []
      const types = queryTypes(endpoint.query)
      for (const parameter of parameters as ReadonlyArray<QueryParameter>) {
        const type = parameter.in === "query" ? types[parameter.name] : undefined
        if (type !== undefined) parameter.schema = type
      }
    }
  }
  return document
}

const queryTypes = (query: Schema.Top | undefined): Readonly<Record<string, object>> => {
  if (query === undefined) return {}
  const { schema } = Schema.toJsonSchemaDocument(Schema.toType(query))
  return (schema.properties ?? {}) as Readonly<Record<string, object>>
}

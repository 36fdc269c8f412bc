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
      const fields = queryFields(endpoint.query)
      for (const parameter of parameters as ReadonlyArray<QueryParameter>) {
        const field = parameter.in === "query" ? fields[parameter.name] : undefined
        if (field !== undefined) parameter.schema = Schema.toJsonSchemaDocument(Schema.toType(field)).schema
      }
    }
  }
  return document
}

const queryFields = (query: Schema.Top | undefined): Readonly<Record<string, Schema.Top>> =>
  query !== undefined && "fields" in query ? query.fields as Readonly<Record<string, Schema.Top>> : {}

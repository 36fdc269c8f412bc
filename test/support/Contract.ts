/** The routes of the contract as plain data, enumerated from `MunimentApi`, for tests that cover each of them. */
import { MunimentApi } from "@muniment/domain/api/MunimentApi"
import { openApiDocument } from "@muniment/domain/api/OpenApiDocument"

export interface ContractRoute {
  /** `group.endpoint`, as in `memories.create`. */
  readonly name: string
  readonly method: string
  /** With `:id` or `:name`. */
  readonly path: string
  readonly isOperators: boolean
  /** JSON Schema of the body; undefined when the route takes none. */
  readonly body: JsonSchema | undefined
  /** JSON Schema of each query parameter. */
  readonly query: Readonly<Record<string, JsonSchema>>
}

export interface JsonSchema {
  readonly $ref?: string
  readonly type?: string | ReadonlyArray<string>
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: ReadonlyArray<string>
  readonly additionalProperties?: JsonSchema | boolean
  readonly items?: JsonSchema | boolean
  readonly prefixItems?: ReadonlyArray<JsonSchema>
  readonly anyOf?: ReadonlyArray<JsonSchema>
  readonly oneOf?: ReadonlyArray<JsonSchema>
  readonly allOf?: ReadonlyArray<JsonSchema>
  readonly enum?: ReadonlyArray<unknown>
  readonly const?: unknown
}

interface DocumentedOperation {
  readonly parameters?: ReadonlyArray<{ readonly in: string; readonly name: string; readonly schema: JsonSchema }>
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema?: JsonSchema }>> }
}

/** The plain JSON of the document: what a client would read. */
const document: {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>
  readonly components?: { readonly schemas?: Readonly<Record<string, JsonSchema>> }
} = JSON.parse(JSON.stringify(openApiDocument()))

export const contractRoutes: ReadonlyArray<ContractRoute> = Object.values(MunimentApi.groups).flatMap((group) =>
  Object.values(group.endpoints).map((endpoint): ContractRoute => {
    const operation = document.paths[endpoint.path.replace(/:(\w+)/g, "{$1}")]?.[endpoint.method.toLowerCase()]
    if (operation === undefined) throw new Error(`${endpoint.method} ${endpoint.path} is not in the document`)
    const parameters = (operation.parameters ?? []).filter((parameter) => parameter.in === "query")
    return {
      name: `${group.identifier}.${endpoint.identifier}`,
      method: endpoint.method,
      path: endpoint.path,
      isOperators: endpoint.path.startsWith("/admin"),
      body: operation.requestBody?.content["application/json"]?.schema,
      query: Object.fromEntries(parameters.map(({ name, schema }) => [name, schema]))
    }
  })
)

/** What a `$ref` of the document stands for. */
export const resolved = (schema: JsonSchema): JsonSchema => {
  if (schema.$ref === undefined) return schema
  const found = document.components?.schemas?.[schema.$ref.replace("#/components/schemas/", "")]
  if (found === undefined) throw new Error(`${schema.$ref} is not in the document`)
  return found
}

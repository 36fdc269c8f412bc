/** Endpoints of schemas (contract: Schemas); all free. */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Conflict, Forbidden, InsufficientStorage, InvalidRequest, NotFound, Unavailable } from "../Errors.ts"
import { MemorySchema, PatchSchema, RegisterSchema, TriedData, TrySchema } from "../MemorySchema.ts"
import { WriteHeaders, operation, writingGroup } from "./Middleware.ts"

const success = Schema.Literal(true)
const name = Schema.String.annotate({ description: "Schema name.", examples: ["contact"] })
const writeErrors = [InvalidRequest, Forbidden, NotFound, Conflict, InsufficientStorage] as const

export class SchemasApi extends writingGroup(
  HttpApiGroup.make("schemas").add(
    HttpApiEndpoint.post("register", "/schemas", {
      headers: WriteHeaders,
      payload: RegisterSchema,
      success: Schema.Struct({ success, schema: MemorySchema }),
      error: writeErrors
    }).annotateMerge(operation("Register a schema", {})),
    HttpApiEndpoint.post("trySchema", "/schemas/try", {
      payload: TrySchema,
      success: Schema.Struct({ success, ...TriedData.fields }),
      error: [InvalidRequest, NotFound, Unavailable]
    }).annotateMerge(
      operation("Try data against a schema", {
        description: "Whether a memory with this data would be accepted; stores nothing.",
        isRead: true
      })
    ),
    HttpApiEndpoint.get("listSchemas", "/schemas", {
      success: Schema.Struct({ success, schemas: Schema.Array(MemorySchema) })
    }).annotateMerge(operation("List the account's schemas", {})),
    HttpApiEndpoint.get("getSchema", "/schemas/:name", {
      params: { name },
      success: Schema.Struct({ success, schema: MemorySchema }),
      error: NotFound
    }).annotateMerge(operation("Get a schema or a built-in kind", {})),
    HttpApiEndpoint.patch("updateSchema", "/schemas/:name", {
      params: { name },
      headers: WriteHeaders,
      payload: PatchSchema,
      success: Schema.Struct({ success, updated: Schema.Literal(true), schema: MemorySchema }),
      error: writeErrors
    })
      .annotateMerge(operation("Change a schema", { description: "Stored memories are not revalidated." }))
      .annotate(HttpApi.PayloadParseOptions, { onExcessProperty: "error" }),
    HttpApiEndpoint.delete("deleteSchema", "/schemas/:name", {
      params: { name },
      headers: WriteHeaders,
      success: Schema.Struct({ success, deleted: Schema.Int }),
      error: writeErrors
    }).annotateMerge(operation("Delete a schema", { description: "Existing memories stay." }))
  )
) {}

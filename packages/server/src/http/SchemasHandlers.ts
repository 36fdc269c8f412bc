/** Schema endpoints (contract: Schemas). */
import { Effect, Result } from "effect"
import { Caller } from "@muniment/domain/api/Middleware"
import { Conflict, Forbidden, InvalidRequest } from "@muniment/domain/Errors"
import { SchemaRegistry } from "@muniment/control/accounts/SchemaRegistry"
import type { JsonObject } from "@muniment/domain/Memory"
import { checkSchema, SchemaValidator } from "@muniment/schemas/SchemaValidator"
import { requireWholeAccount } from "../identity/KeyScopes.ts"
import { KnownKinds } from "../memories/KnownKinds.ts"
import { missingUniqueFields, validatorBusy } from "../memories/MemoryPreparation.ts"
import { apiGroup } from "../apiGroup.ts"

export const schemasHandlers = apiGroup(
  "schemas",
  Effect.fnUntraced(function* (handlers) {
    const registry = yield* SchemaRegistry
    const kinds = yield* KnownKinds
    const validator = yield* SchemaValidator
    const account = Effect.map(Caller, (caller) => caller.account.id)

    const refuseBuiltin = (name: string) =>
      kinds.builtin(name) === undefined
        ? Effect.void
        : Effect.fail(new Forbidden({ code: "builtin_schema", error: `"${name}" is built in and cannot be changed` }))

    return handlers.handleAll({
      register: Effect.fnUntraced(function* ({ payload }) {
        yield* checkDocument(payload.schema, payload.uniqueOn)
        if (kinds.builtin(payload.name) !== undefined) {
          return yield* new Conflict({ code: "schema_exists", error: `"${payload.name}" is built in` })
        }
        const caller = yield* Caller
        yield* requireWholeAccount(caller)
        yield* caller.newcomer?.open("free") ?? Effect.void
        return { success: true as const, schema: yield* registry.register(caller.account.id, payload) }
      }),
      trySchema: Effect.fnUntraced(function* ({ payload: { data, kind, schema = "", uniqueOn } }) {
        const owner = yield* account
        if (kind === undefined) yield* checkDocument(schema, uniqueOn)
        const known = kind === undefined ? undefined : (kinds.builtin(kind) ?? (yield* registry.get(owner, kind)))
        const asked = known ?? { schema, uniqueOn }
        const items = [{ schemaText: asked.schema, data }]
        const [outcome] = yield* Effect.catchTag(validator.validate(items, owner), "ValidatorBusy", validatorBusy)
        if (outcome?.ok !== true) return { success: true as const, valid: false, problems: outcome?.issues ?? [] }
        const filled = outcome.data as JsonObject
        const missing = missingUniqueFields(asked.uniqueOn, filled)
        const problems = missing.map((field) => ({
          path: `/${field}`,
          message: `"${field}" identifies this kind and is missing`
        }))
        return { success: true as const, valid: problems.length === 0, problems, data: filled }
      }),
      listSchemas: () =>
        Effect.map(Effect.flatMap(account, registry.list), (schemas) => ({ success: true as const, schemas })),
      getSchema: Effect.fnUntraced(function* ({ params }) {
        return {
          success: true as const,
          schema: kinds.builtin(params.name) ?? (yield* registry.get(yield* account, params.name))
        }
      }),
      updateSchema: Effect.fnUntraced(function* ({ params, payload }) {
        // An invalid document is reported even if there is no such schema (contract: Errors).
        if (payload.schema !== undefined) yield* checkDocument(payload.schema, undefined)
        yield* refuseBuiltin(params.name)
        yield* requireWholeAccount(yield* Caller)
        const owner = yield* account
        const current = yield* registry.get(owner, params.name)
        const uniqueOn = payload.uniqueOn === undefined ? current.uniqueOn : (payload.uniqueOn ?? undefined)
        yield* checkDocument(payload.schema ?? current.schema, uniqueOn)
        return {
          success: true as const,
          updated: true as const,
          schema: yield* registry.update(owner, params.name, payload)
        }
      }),
      deleteSchema: Effect.fnUntraced(function* ({ params }) {
        yield* refuseBuiltin(params.name)
        yield* requireWholeAccount(yield* Caller)
        yield* registry.remove(yield* account, params.name)
        return { success: true as const, deleted: 1 }
      })
    })
  })
)

/** The document is within its bounds, and `uniqueOn` names `kind` or properties that it declares. */
const checkDocument = (
  text: string,
  uniqueOn: ReadonlyArray<string> | undefined
): Effect.Effect<void, InvalidRequest> => {
  const parsed = checkSchema(text)
  if (Result.isFailure(parsed)) {
    const { path, reason } = parsed.failure
    return Effect.fail(
      new InvalidRequest({ code: "invalid_schema", error: reason, details: [{ path, message: reason }] })
    )
  }
  const known = new Set(["kind", ...parsed.success.declaredProperties])
  const unknown = (uniqueOn ?? []).find((field) => !known.has(field))
  return unknown === undefined
    ? Effect.void
    : Effect.fail(
        new InvalidRequest({
          code: "invalid_schema",
          error: `uniqueOn names "${unknown}", which is neither \`kind\` nor a declared property`,
          details: [{ path: "/uniqueOn", message: `"${unknown}" is not declared` }]
        })
      )
}

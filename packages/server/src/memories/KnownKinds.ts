/**
 * The kinds an account can store (contract: Schemas): those it registered, and the built-in ones, whose names are
 * reserved.
 */
import { Context, Effect, Layer, Result } from "effect"
import type { MemorySchema } from "@muniment/domain/MemorySchema"
import { traced } from "@muniment/domain/traced"
import { InvalidRequest } from "@muniment/domain/Errors"
import type { CreateMemories } from "@muniment/domain/Memory"
import { SchemaRegistry } from "@muniment/control/accounts/SchemaRegistry"
import { builtinKinds, factKinds } from "@muniment/schemas/BuiltinKinds"
import { checkSchema } from "@muniment/schemas/SchemaValidator"

const builtins: ReadonlyMap<string, MemorySchema> = new Map(
  builtinKinds.map(({ name, description, schema }) => [name, { name, description, schema, builtin: true }])
)

/** Entries of the cache of parsed schemas; parsing a large one takes milliseconds. */
const parsedSchemasMax = 512

export class KnownKinds extends Context.Service<
  KnownKinds,
  {
    readonly builtin: (name: string) => MemorySchema | undefined
    /** Schemas of those of `names` that exist. */
    readonly lookup: (account: string, names: ReadonlyArray<string>) => Effect.Effect<ReadonlyMap<string, MemorySchema>>
    /** Kinds that an extraction may yield: what the account registered, then the built-in kinds of facts. */
    readonly extractable: (account: string) => Effect.Effect<ReadonlyArray<MemorySchema>>
    /** The property of a schema that holds its event time. */
    readonly temporalProperty: (schema: MemorySchema) => string | undefined
  }
>()("muniment/server/KnownKinds") {
  static readonly layer = Layer.effect(
    this,
    Effect.gen(function* () {
      const registry = yield* SchemaRegistry
      const temporal = new Map<string, string | undefined>()

      const lookup = traced("KnownKinds.lookup")(function* (account: string, names: ReadonlyArray<string>) {
        const found = new Map<string, MemorySchema>()
        for (const name of new Set(names)) {
          const schema = builtins.get(name) ?? (yield* registry.find(account, name))
          if (schema !== undefined) found.set(name, schema)
        }
        return found
      })

      const temporalProperty = ({ schema }: MemorySchema) => {
        if (!temporal.has(schema)) {
          if (temporal.size >= parsedSchemasMax) temporal.clear()
          temporal.set(schema, Result.getOrUndefined(checkSchema(schema))?.temporalProperty)
        }
        return temporal.get(schema)
      }

      const extractable = (account: string) =>
        Effect.map(registry.list(account), (registered) => [
          ...registered,
          ...factKinds.flatMap(({ name }) => builtins.get(name) ?? [])
        ])

      return { extractable, builtin: (name: string) => builtins.get(name), lookup, temporalProperty }
    })
  )
}

/** A kind whose schema says so is stored by programs alone: `"x-tool": false`. */
export const hasTool = ({ schema }: MemorySchema): boolean =>
  !schema.includes('"x-tool"') || JSON.parse(schema)["x-tool"] !== false

/** The kinds that a conversation is read for: those that it names, else all that the account has and the built-in ones. */
export const candidateKinds = Effect.fnUntraced(function* (
  account: string,
  { schemas: names }: Pick<CreateMemories, "schemas">,
  kinds: KnownKinds["Service"]
) {
  if (names === undefined) return new Map((yield* kinds.extractable(account)).map((schema) => [schema.name, schema]))
  const found = yield* kinds.lookup(account, names)
  const details = names.flatMap((name, at) =>
    found.has(name) ? [] : [{ path: `/schemas/${at}`, message: `"${name}" is neither registered nor built in` }]
  )
  if (details.length > 0) {
    return yield* new InvalidRequest({ code: "unknown_schema", error: "`schemas` names an unknown schema", details })
  }
  return found
})

/**
 * Validates data: a little of it against built-in kinds at once, since their time is in proportion to its size and no
 * tenant writes them; everything else on worker threads. There a request has `threadLimits.cpuMillisMax` of processor time
 * and a capped heap; one that needs more is answered with an issue (the caller's 400). There are two lanes: built-in kinds
 * and proven schemas with small data in one, everything else in the other, so that unknown schemas delay no request with
 * known ones. In each lane requests take turns by tenant. What overran is not tried again for a while (`SchemaStanding`).
 */
import { Context, Effect, Layer, Result, Schema } from "effect"
import { traced } from "@muniment/domain/traced"
import { builtinKinds, builtinTexts } from "./BuiltinKinds.ts"
import { type CompiledSchema, compileSchema, dataBytes, type Issue, type Outcome } from "./CompiledSchemas.ts"
import { openValidationLane, SchemaStanding, type ValidatorBusy } from "./ValidationLane.ts"
import type { ValidationRequest } from "./ValidationProtocol.ts"
import { type ParsedSchema, parseSchema } from "./SchemaGate.ts"

/** Largest request that is validated at once: a fraction of a millisecond. */
const builtinBytesMax = 65_536

interface ValidationItem {
  readonly schemaText: string
  readonly data: unknown
}

export class SchemaValidator extends Context.Service<
  SchemaValidator,
  {
    /**
     * One outcome per item, in order. Data is not changed: a valid outcome contains it, in a copy where defaults may have
     * been filled in.
     * `tenant` selects the queue in which the request waits.
     */
    readonly validate: (
      items: ReadonlyArray<ValidationItem>,
      tenant?: string
    ) => Effect.Effect<ReadonlyArray<Outcome>, ValidatorBusy>
  }
>()("@muniment/schemas/SchemaValidator") {
  static readonly layer = Layer.effect(
    this,
    Effect.suspend(() => make)
  )
}

const make = Effect.gen(function* () {
  yield* Effect.sync(checkBuiltinKinds)
  const standing = new SchemaStanding()
  const builtins = new Map<string, CompiledSchema>()
  // Found by its text: the digest of a schema takes longer to make than a memory to validate.
  const builtinOf = (schemaText: string): CompiledSchema => {
    const compiled = builtins.get(schemaText) ?? compileSchema(schemaText)
    builtins.set(schemaText, compiled)
    return compiled
  }
  const known = yield* openValidationLane(standing, { isStarted: true, name: "known" })
  // Each registered schema is unknown once: a thread that most installations would start for nothing.
  const unknown = yield* openValidationLane(standing, { isStarted: false, name: "unknown" })

  const validate = traced("SchemaValidator.validate")(function* (
    items: ReadonlyArray<ValidationItem>,
    tenant: string = ""
  ) {
    const sizes = items.map(({ data }) => dataBytes(data))
    const measured = items.flatMap((item, index) => {
      const bytes = sizes[index]
      return typeof bytes === "number" ? [{ item, bytes }] : []
    })
    if (measured.length === 0) return inOrder(sizes, [])
    if (isLittleOfBuiltins(measured)) {
      return inOrder(
        sizes,
        measured.map(({ item: { data, schemaText } }) => builtinOf(schemaText).validate(data))
      )
    }
    const isSafe = [...largestData(measured)].every(([schemaText, bytes]) => standing.isSafe(tenant, schemaText, bytes))
    return inOrder(sizes, yield* (isSafe ? known : unknown).validate(requestOf(measured), tenant))
  })
  return SchemaValidator.of({ validate })
})

interface Measured {
  readonly item: ValidationItem
  readonly bytes: number
}

/** Their schemas set no defaults, so that validation in place changes nothing. */
const isLittleOfBuiltins = (measured: ReadonlyArray<Measured>): boolean =>
  measured.every(({ item }) => builtinTexts.has(item.schemaText)) &&
  measured.reduce((sum, { bytes }) => sum + bytes, 0) <= builtinBytesMax

/** Schema text -> bytes of its largest data: a text is looked up by its digest, once a request. */
const largestData = (measured: ReadonlyArray<Measured>): ReadonlyMap<string, number> => {
  const largest = new Map<string, number>()
  for (const { bytes, item } of measured) {
    largest.set(item.schemaText, Math.max(bytes, largest.get(item.schemaText) ?? 0))
  }
  return largest
}

/** Invalid built-in kinds are a defect. The first check also compiles the meta-schemas (80 ms), before the first request. */
export const checkBuiltinKinds = () => {
  for (const { schema } of builtinKinds) Result.getOrThrow(checkSchema(schema))
  Result.getOrThrow(checkSchema(`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}`))
}

/** Merges the threads' answers with the items that were refused before. */
const inOrder = (sizes: ReadonlyArray<Issue | number>, answers: ReadonlyArray<Outcome>): ReadonlyArray<Outcome> => {
  const remaining = answers.values()
  return sizes.map((size) => {
    if (typeof size !== "number") return { ok: false, issues: [size] }
    const { value } = remaining.next()
    if (value === undefined) throw new Error("the validation thread answered fewer items than it was asked")
    return value
  })
}

const requestOf = (measured: ReadonlyArray<Measured>): ValidationRequest => {
  const places = new Map<string, number>()
  for (const { item } of measured) {
    if (!places.has(item.schemaText)) places.set(item.schemaText, places.size)
  }
  return {
    schemaTexts: [...places.keys()],
    items: measured.map(({ item }) => ({ schema: places.get(item.schemaText) ?? 0, data: item.data }))
  }
}

/** `path` is a JSON pointer into the schema; the server maps this to the wire code `invalid_schema`. */
class SchemaRejected extends Schema.TaggedError<SchemaRejected>()("SchemaRejected", {
  path: Schema.String,
  reason: Schema.String
}) {
  override get message(): string {
    return this.reason
  }
}

/**
 * Parses the text of a user schema within every bound of this package. Pure and synchronous: the most expensive text
 * found took 34 ms, the first call 80 ms more for ajv's meta-schemas.
 */
export const checkSchema = (text: string): Result.Result<ParsedSchema, SchemaRejected> =>
  Result.mapError(parseSchema(text), (fault) => new SchemaRejected(fault))

/**
 * Validates data against user schemas off the event loop (reliability.md, "Hostile schemas"). A request
 * has 250 ms of the worker's time and 128 MB of heap; one that needs more answers with an issue, which
 * is the caller's 400, and costs the others one change to a worker that stands by, warm. Requests
 * take turns by tenant, so that a hostile tenant delays another's request by one deadline at most.
 */
import { Context, Effect, Exit, Fiber, Layer, PartitionedSemaphore, Result, Schema, Scope } from "effect"
import { builtinKinds } from "./BuiltinKinds.ts"
import type { Outcome } from "./CompiledSchemas.ts"
import { checkData, type Issue } from "./DataBounds.ts"
import { checkSchema } from "./SchemaBounds.ts"
import { type LaneLost, openLane, type ValidationLane } from "./ValidationLane.ts"
import { tooSlow, type ValidationRequest } from "./ValidationProtocol.ts"

export interface ValidationItem {
  readonly schemaText: string
  readonly data: unknown
}

/** Too many requests wait for the validator; nothing was done, trying again later may succeed. */
export class ValidatorBusy extends Schema.TaggedError<ValidatorBusy>()("ValidatorBusy", {
  waiting: Schema.Int
}) {}

/** Requests that hold or await the worker, over all tenants. */
export const waitingRequestsMax = 256

export class SchemaValidator extends Context.Service<
  SchemaValidator,
  {
    /**
     * One outcome per item, in order. Data is not changed: a valid outcome carries a copy with defaults
     * filled in. `tenant` names the queue in which the request takes its turn.
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
  const scope = yield* Effect.scope
  const lanes = yield* openLanes(scope)
  const turns = PartitionedSemaphore.makeUnsafe<string>({ permits: 1 })
  let waiting = 0

  // A client that goes away must not leave the worker busy for the next one: the exchange runs in the
  // layer's scope to its end, at most one deadline, and only then gives its turn back.
  const inTurn = (request: ValidationRequest, tenant: string) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        yield* restore(turns.take(tenant, 1))
        const exchange = Effect.interruptible(lanes.ask(request)).pipe(Effect.ensuring(turns.release(1)))
        return yield* restore(Fiber.join(yield* Effect.forkIn(exchange, scope)))
      })
    )

  const validate = Effect.fn("SchemaValidator.validate")(function* (
    items: ReadonlyArray<ValidationItem>,
    tenant: string = ""
  ) {
    const refused = items.map((item) => checkData(item.data))
    const request = requestOf(items.filter((_, index) => refused[index] === undefined))
    if (request.items.length > 0 && waiting >= waitingRequestsMax) return yield* new ValidatorBusy({ waiting })
    waiting++
    const asked = request.items.length === 0 ? Effect.succeed([]) : inTurn(request, tenant)
    const answers = yield* asked.pipe(Effect.ensuring(Effect.sync(() => waiting--)))
    return inOrder(refused, answers)
  })
  return SchemaValidator.of({ validate })
})

/** Broken built-in kinds are a defect. The check also compiles the meta-schemas, 80 ms, before anyone waits. */
const checkBuiltinKinds = () => {
  for (const { schema } of builtinKinds) Result.getOrThrow(checkSchema(schema))
  Result.getOrThrow(checkSchema(`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}`))
}

interface OpenLane {
  readonly lane: ValidationLane
  readonly close: Effect.Effect<void>
}

/** The lane in use and the spare; `ask` must not run twice at a time. */
const openLanes = Effect.fn("SchemaValidator.openLanes")(function* (scope: Scope.Scope) {
  const open: Effect.Effect<OpenLane> = Effect.gen(function* () {
    const own = yield* Scope.fork(scope)
    const lane = yield* Scope.provide(openLane(), own)
    return { lane, close: Scope.close(own, Exit.void) }
  })
  let current = yield* open
  let spare = yield* open
  yield* Effect.orDie(current.lane.ready)

  const replace = Effect.gen(function* () {
    yield* Effect.forkIn(current.close, scope)
    current = spare
    spare = yield* open
  })
  const ask = (request: ValidationRequest): Effect.Effect<ReadonlyArray<Outcome>> =>
    Effect.gen(function* () {
      if (current.lane.isLost()) yield* replace
      yield* current.lane.ready.pipe(Effect.orDie)
      return yield* current.lane
        .ask(request)
        .pipe(
          Effect.catchTag("LaneLost", (loss) =>
            Effect.logWarning("a validation worker was replaced", { reason: loss.reason, detail: loss.detail }).pipe(
              Effect.andThen(replace),
              Effect.as(request.items.map(() => outcomeOf(loss)))
            )
          )
        )
    })
  return { ask }
})

const outcomeOf = (loss: LaneLost): Outcome => {
  if (loss.reason === "deadline") return tooSlow()
  const message = loss.reason === "memory" ? "validation needed too much memory" : "validation could not be completed"
  return { ok: false, issues: [{ path: "", message }] }
}

/** Puts the worker's answers between the items that never went to it. */
const inOrder = (
  refused: ReadonlyArray<Issue | undefined>,
  answers: ReadonlyArray<Outcome>
): ReadonlyArray<Outcome> => {
  const remaining = answers.values()
  return refused.map((issue) => {
    if (issue !== undefined) return { ok: false, issues: [issue] }
    const { value } = remaining.next()
    if (value === undefined) throw new Error("the validation worker answered fewer items than it was asked")
    return value
  })
}

const requestOf = (items: ReadonlyArray<ValidationItem>): ValidationRequest => {
  const places = new Map<string, number>()
  for (const { schemaText } of items) {
    if (!places.has(schemaText)) places.set(schemaText, places.size)
  }
  return {
    schemaTexts: [...places.keys()],
    items: items.map(({ data, schemaText }) => ({ schema: places.get(schemaText) ?? 0, data }))
  }
}

/**
 * Validates data against user schemas on a worker thread. A request has `threadLimits.deadlineMillis` and a capped heap;
 * one that needs more is answered with an issue (the caller's 400), and a warm spare thread takes over for the others.
 * Requests take turns by tenant, so that a hostile tenant delays another's request by at most one deadline.
 */
import type { WorkerFailure } from "@muniment/worker/WorkerThread"
import { Context, Effect, Fiber, Layer, PartitionedSemaphore, Result, Schema, type Scope } from "effect"
import { builtinKinds } from "./BuiltinKinds.ts"
import type { Outcome } from "./CompiledSchemas.ts"
import { checkData, type Issue } from "./DataBounds.ts"
import { checkSchema } from "./SchemaBounds.ts"
import { tooSlow, type ValidationRequest } from "./ValidationProtocol.ts"
import { openValidationThread, type ValidationThread } from "./ValidationThread.ts"

export interface ValidationItem {
  readonly schemaText: string
  readonly data: unknown
}

/** The validation queue is full; nothing was done, a later retry may succeed. */
export class ValidatorBusy extends Schema.TaggedError<ValidatorBusy>()("ValidatorBusy", {
  waiting: Schema.Int
}) {}

/** Requests under way or waiting, over all tenants. */
export const waitingRequestsMax = 256

export class SchemaValidator extends Context.Service<
  SchemaValidator,
  {
    /**
     * One outcome per item, in order. Data is not changed: a valid outcome contains a copy with defaults filled in.
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
  const scope = yield* Effect.scope
  const threads = yield* openThreads
  const turns = PartitionedSemaphore.makeUnsafe<string>({ permits: 1 })
  let waiting = 0

  // The request of a client that disconnects runs to its end, at most one deadline, in the layer's scope, and only then
  // gives its turn back: otherwise the next request's deadline would start behind it.
  const inTurn = (request: ValidationRequest, tenant: string) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        yield* restore(turns.take(tenant, 1))
        const exchange = Effect.interruptible(threads.validate(request)).pipe(Effect.ensuring(turns.release(1)))
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

/** Invalid built-in kinds are a defect. The check also compiles the meta-schemas (80 ms) before the first request. */
const checkBuiltinKinds = () => {
  for (const { schema } of builtinKinds) Result.getOrThrow(checkSchema(schema))
  Result.getOrThrow(checkSchema(`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}`))
}

/** The thread in use and a warm spare, which takes over while a lost one starts again. */
class ThreadPair {
  #current: ValidationThread
  #spare: ValidationThread
  readonly #scope: Scope.Scope

  constructor(current: ValidationThread, spare: ValidationThread, scope: Scope.Scope) {
    this.#current = current
    this.#spare = spare
    this.#scope = scope
  }

  /** Must not run twice at a time. */
  validate(request: ValidationRequest): Effect.Effect<ReadonlyArray<Outcome>> {
    return Effect.suspend(() => {
      const { start, validate } = this.#current
      return Effect.orDie(start).pipe(
        Effect.andThen(validate(request)),
        Effect.catchTag("WorkerFailure", (failure) =>
          Effect.as(
            this.#change,
            request.items.map(() => outcomeOf(failure))
          )
        )
      )
    })
  }

  get #change(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const lost = this.#current
      this.#current = this.#spare
      this.#spare = lost
      return Effect.asVoid(Effect.forkIn(Effect.ignore(lost.start), this.#scope))
    })
  }
}

const openThreads = Effect.gen(function* () {
  const [current, spare] = yield* Effect.all([openValidationThread(), openValidationThread()])
  const scope = yield* Effect.scope
  yield* Effect.forkIn(Effect.ignore(spare.start), scope)
  yield* Effect.orDie(current.start)
  return new ThreadPair(current, spare, scope)
})

const outcomeOf = ({ reason }: WorkerFailure): Outcome => {
  if (reason === "deadline") return tooSlow()
  const message = reason === "memory" ? "validation needed too much memory" : "validation could not be completed"
  return { ok: false, issues: [{ path: "", message }] }
}

/** Merges the thread's answers with the items that were refused before. */
const inOrder = (
  refused: ReadonlyArray<Issue | undefined>,
  answers: ReadonlyArray<Outcome>
): ReadonlyArray<Outcome> => {
  const remaining = answers.values()
  return refused.map((issue) => {
    if (issue !== undefined) return { ok: false, issues: [issue] }
    const { value } = remaining.next()
    if (value === undefined) throw new Error("the validation thread answered fewer items than it was asked")
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

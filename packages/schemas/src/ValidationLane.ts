/**
 * One validation thread and the requests that wait for it. Tenants take turns; a request that the thread declines to end in
 * one turn goes on in later ones, at most `roundsMax`. A lost thread takes one request with it.
 */
import { Clock, Effect, Fiber, Metric, PartitionedSemaphore, Schema, type Scope } from "effect"
import { createHash } from "node:crypto"
import { LRUCache } from "lru-cache"
import { openWorkerThread, type WorkerFailure } from "@muniment/worker/WorkerThread"
import type { Outcome } from "./CompiledSchemas.ts"
import {
  tooSlow,
  validationCpuMillisMax,
  validationDeadlineMillis,
  type ValidationReply,
  type ValidationRequest
} from "./ValidationProtocol.ts"
import { builtinTexts } from "./BuiltinKinds.ts"

/** Nothing was decided; a later retry may succeed. */
export class ValidatorBusy extends Schema.TaggedError<ValidatorBusy>()("ValidatorBusy", {
  /** `queue`: too many requests wait. `starved`: the machine gave the thread no time to run, or to start. */
  reason: Schema.Literals(["queue", "starved"])
}) {}

/** Requests under way or waiting in a lane: over all tenants, and of one. */
const waitingRequestsMax = 256
export const waitingRequestsOfTenantMax = 64

/** Turns of one request. Its time is then used up for certain. */
const roundsMax = 32

const open = Metric.gauge("validations_open", {
  description: "Requests that the schema validator works on, or that wait for it, by lane."
})

export class ValidationLane {
  readonly #thread: ValidationThread
  readonly #scope: Scope.Scope
  readonly #turns = PartitionedSemaphore.makeUnsafe<string>({ permits: 1 })
  /** Tenants without a request are not listed. */
  readonly #waitingOf = new Map<string, number>()
  #waiting = 0

  readonly #standing: SchemaStanding
  /** Shows how many requests are here. */
  readonly #show: Effect.Effect<void>

  constructor(name: string, thread: ValidationThread, standing: SchemaStanding, scope: Scope.Scope) {
    this.#thread = thread
    this.#standing = standing
    this.#scope = scope
    const gauge = Metric.withAttributes(open, { lane: name })
    this.#show = Effect.suspend(() => Metric.update(gauge, this.#waiting))
  }

  readonly validate = (
    request: ValidationRequest,
    tenant: string
  ): Effect.Effect<ReadonlyArray<Outcome>, ValidatorBusy> =>
    Effect.suspend(() => {
      const ofTenant = this.#waitingOf.get(tenant) ?? 0
      if (this.#waiting >= waitingRequestsMax || ofTenant >= waitingRequestsOfTenantMax) {
        return Effect.fail(new ValidatorBusy({ reason: "queue" }))
      }
      this.#count(tenant, 1)
      return Effect.ensuring(
        Effect.andThen(this.#show, this.#inRounds(request, tenant)),
        Effect.suspend(() => {
          this.#count(tenant, -1)
          return this.#show
        })
      )
    })

  readonly #inRounds = Effect.fnUntraced({ self: this }, function* (request: ValidationRequest, tenant: string) {
    const outcomes: Array<Outcome> = []
    for (let round = 0; round < roundsMax && outcomes.length < request.items.length; round += 1) {
      outcomes.push(...(yield* this.#inTurn({ ...request, items: request.items.slice(outcomes.length) }, tenant)))
    }
    return [...outcomes, ...request.items.slice(outcomes.length).map(tooSlow)]
  })

  /**
   * The request of a client that disconnects runs to its end, at most one deadline, in the layer's scope, and only then
   * gives its turn back: otherwise the next request's deadline would start behind it.
   */
  #inTurn(request: ValidationRequest, tenant: string): Effect.Effect<ReadonlyArray<Outcome>, ValidatorBusy> {
    return Effect.uninterruptibleMask((restore) =>
      Effect.gen({ self: this }, function* () {
        yield* restore(this.#turns.take(tenant, 1))
        const exchange = Effect.interruptible(this.#exchange(request, tenant)).pipe(
          Effect.ensuring(this.#turns.release(1))
        )
        return yield* restore(Fiber.join(yield* Effect.forkIn(exchange, this.#scope)))
      })
    )
  }

  /** What is learned here counts for the requests that wait. */
  readonly #exchange = Effect.fnUntraced(
    { self: this },
    function* (request: ValidationRequest, tenant: string): Effect.fn.Return<ReadonlyArray<Outcome>, ValidatorBusy> {
      const { items, schemaTexts } = request
      const waitMillis = this.#standing.waitMillis(tenant, schemaTexts, yield* Clock.currentTimeMillis)
      if (waitMillis > 0) return items.map(() => quarantined(waitMillis))
      const started = yield* Effect.result(this.#thread.start)
      if (started._tag === "Failure") return yield* new ValidatorBusy({ reason: "starved" })
      const reply = yield* Effect.result(this.#thread.validate(request))
      if (reply._tag === "Success") {
        this.#standing.succeeded(tenant, schemaTexts, reply.success.cpuMillis)
        return reply.success.outcomes
      }
      // The next request finds a thread that is warm, or warms up already.
      yield* Effect.forkIn(Effect.ignore(this.#thread.start), this.#scope)
      if (reply.failure.reason === "starved") return yield* new ValidatorBusy({ reason: "starved" })
      this.#standing.overran(tenant, schemaTexts, yield* Clock.currentTimeMillis)
      return items.map(() => outcomeOf(reply.failure))
    }
  )

  #count(tenant: string, change: 1 | -1): void {
    this.#waiting += change
    const ofTenant = (this.#waitingOf.get(tenant) ?? 0) + change
    if (ofTenant === 0) this.#waitingOf.delete(tenant)
    else this.#waitingOf.set(tenant, ofTenant)
  }
}

/** A lane whose thread starts in the background, or with its first request. */
export const openValidationLane = Effect.fn("ValidationLane.open")(function* (
  standing: SchemaStanding,
  { isStarted, name }: { readonly isStarted: boolean; readonly name: string }
) {
  const scope = yield* Effect.scope
  const thread = yield* openValidationThread()
  if (isStarted) yield* Effect.forkIn(Effect.ignore(thread.start), scope)
  return new ValidationLane(name, thread, standing, scope)
})

const outcomeOf = ({ reason }: WorkerFailure): Outcome => {
  if (reason === "deadline") return tooSlow()
  const message = reason === "memory" ? "validation needed too much memory" : "validation could not be completed"
  return { ok: false, issues: [{ path: "", message }] }
}

const quarantined = (waitMillis: number): Outcome => {
  const seconds = Math.ceil(waitMillis / 1_000)
  const message = `the schema took too long before and is not tried for another ${seconds} s; make it simpler`
  return { ok: false, issues: [{ path: "", message }], waitSeconds: seconds }
}

/**
 * One validation thread: a heap cap and a deadline for each request. It answers one request at a time; a lost
 * thread takes only that request with it.
 */
export interface ValidationThread {
  /** Starts the thread if it is not running; succeeds when it is warm. */
  readonly start: Effect.Effect<void, WorkerFailure>
  readonly validate: (request: ValidationRequest) => Effect.Effect<ValidationReply, WorkerFailure>
}

export const threadLimits = {
  cpuMillisMax: validationCpuMillisMax,
  deadlineMillis: validationDeadlineMillis,
  heapMegabytesMax: 128,
  youngHeapMegabytesMax: 32,
  stackMegabytes: 4
} as const
type ThreadLimits = { readonly [Name in keyof typeof threadLimits]: number }

/** A thread takes some 25 MB of memory; the first validation after a rest waits for its start. */
const idleMillis = 60_000

export const openValidationThread = Effect.fn("ValidationThread.open")(function* ({
  cpuMillisMax,
  deadlineMillis,
  ...memory
}: ThreadLimits = threadLimits): Effect.fn.Return<ValidationThread, never, Scope.Scope> {
  const thread = yield* openWorkerThread<ValidationRequest, ValidationReply>({
    ...memory,
    name: "validation",
    entry: new URL("./ValidationWorker.ts", import.meta.url),
    concurrency: 1,
    idleMillis,
    // Tenants wait for their turn in `ValidationLane`.
    queueMax: 0
  })
  return { start: thread.start, validate: (request) => thread.ask(request, { cpuMillisMax, deadlineMillis }) }
})

/**
 * Standing of schemas and of their authors, as the validator has learned it. A schema is proven once it was compiled
 * and run within `provenMillisMax`; proven ones do not wait behind unknown ones. One that overran its time is not tried
 * again for its tenant for a while, which doubles with each time, and neither is any unknown schema of a tenant with
 * several of them.
 *
 * Invariant: a schema proven by one tenant is proven for all, and what one tenant's data overran changes nothing for
 * others.
 */
export const standingLimits = {
  /** Processor time of the whole request. */
  provenMillisMax: 50,
  /** Largest data of one item as JSON: the time of a check may grow with the square of it. */
  provenDataBytesMax: 8_192,
  quarantineMillis: 60_000,
  quarantineMillisMax: 3_600_000,
  /** Overruns of a tenant, remembered for `quarantineMillisMax`, from which on its unknown schemas wait too. */
  overrunsMax: 3,
  entriesMax: 4_096
} as const

interface Quarantine {
  readonly times: number
  readonly untilMillis: number
}

export class SchemaStanding {
  readonly #proven = new LRUCache<string, true>({ max: standingLimits.entriesMax })
  /** Proven schemas that overran since, for the tenant whose data did. */
  readonly #lost = new LRUCache<string, true>({ max: standingLimits.entriesMax })
  readonly #quarantines = new LRUCache<string, Quarantine>({ max: standingLimits.entriesMax })

  /** May be checked for the tenant beside the work of others. */
  isSafe(tenant: string, schemaText: string, dataBytes: number): boolean {
    if (builtinTexts.has(schemaText)) return true
    return dataBytes <= standingLimits.provenDataBytesMax && this.#isProven(tenant, digestOf(schemaText))
  }

  /** Milliseconds until one of the schemas may be tried again; 0: now. */
  waitMillis(tenant: string, schemaTexts: ReadonlyArray<string>, nowMillis: number): number {
    const own = schemaTexts.filter((text) => !builtinTexts.has(text)).map(digestOf)
    const ofTenant = this.#quarantines.get(tenant)
    const isNoted = ofTenant !== undefined && ofTenant.times >= standingLimits.overrunsMax
    const waits = own.map((digest) => {
      const wait = this.#left(keyOf(tenant, digest), nowMillis)
      return isNoted && !this.#isProven(tenant, digest) ? Math.max(wait, this.#left(tenant, nowMillis)) : wait
    })
    return Math.max(0, ...waits)
  }

  succeeded(tenant: string, schemaTexts: ReadonlyArray<string>, cpuMillis: number): void {
    if (cpuMillis > standingLimits.provenMillisMax) return
    for (const text of schemaTexts) {
      if (builtinTexts.has(text)) continue
      const digest = digestOf(text)
      this.#proven.set(digest, true)
      this.#lost.delete(keyOf(tenant, digest))
    }
  }

  overran(tenant: string, schemaTexts: ReadonlyArray<string>, nowMillis: number): void {
    this.#punish(tenant, nowMillis)
    for (const text of schemaTexts) {
      if (builtinTexts.has(text)) continue
      const key = keyOf(tenant, digestOf(text))
      this.#lost.set(key, true)
      this.#punish(key, nowMillis)
    }
  }

  #isProven(tenant: string, digest: string): boolean {
    return this.#proven.get(digest) === true && !this.#lost.has(keyOf(tenant, digest))
  }

  #left(key: string, nowMillis: number): number {
    const { untilMillis } = this.#quarantines.get(key) ?? { untilMillis: 0 }
    return Math.max(0, untilMillis - nowMillis)
  }

  #punish(key: string, nowMillis: number): void {
    const before = this.#quarantines.get(key)
    const { quarantineMillis, quarantineMillisMax } = standingLimits
    const isRemembered = before !== undefined && nowMillis < before.untilMillis + quarantineMillisMax
    const times = isRemembered ? before.times + 1 : 1
    const millis = Math.min(quarantineMillisMax, quarantineMillis * 2 ** (times - 1))
    this.#quarantines.set(key, { times, untilMillis: nowMillis + millis })
  }
}

const digestOf = (text: string): string => createHash("sha256").update(text).digest("base64")

/** A digest is longer than nothing, so this never equals the key of a tenant. */
const keyOf = (tenant: string, digest: string): string => `${tenant}\n${digest}`

/**
 * The daily job over a real engine and a real ledger, as one start of the process builds them, with a step
 * before and after everything it makes durable. Files of a crash are copied while they are open.
 */
import { createHash } from "node:crypto"
import { cpSync, readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { Clock, Duration, Effect, Layer, References } from "effect"
import { contentHash } from "@muniment/trust/CanonicalJson"
import { SecureRandom } from "effect/crypto"
import { TestClock } from "effect/testing"
import type { Account, Plan } from "@muniment/domain/Account"
import type { MemoryRecord } from "@muniment/domain/Memory"
import { credits } from "@muniment/domain/Money"
import { plans } from "@muniment/domain/Plans"
import { MemorySearch } from "@muniment/engine/search/MemorySearch"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { Accounts, Quotas } from "@muniment/control/accounts/Accounts"
import { JobLog } from "@muniment/control/jobs/JobLog"
import { Ledger } from "@muniment/control/credits/Ledger"
import { SchemaRegistry } from "@muniment/control/accounts/SchemaRegistry"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import { PaymentJournal } from "@muniment/control/payments/PaymentJournal"
import type { PlanTable } from "@muniment/server/jobs/AccountStorage"
import { JobClock } from "@muniment/server/jobs/JobClock"
import { StorageInsurance } from "@muniment/server/jobs/StorageInsurance"
import { axisVector, creating, engineOf, memoryRecord, newMemory, StoreProbe } from "../../../support/EngineFixtures.ts"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"
import { controlOf } from "../../control/MemoryLog.ts"

export const dayMillis = 86_400_000
/** A Saturday at noon: its job is over, the next one is in 12 hours and 10 minutes. */
export const noon = Date.UTC(2026, 10, 21, 12)
/** The moment of the job, so many days after that of the day of `noon`. */
export const moment = (days: number): number => Date.UTC(2026, 10, 21 + days, 0, 10)
export const dayName = (days: number): string => new Date(moment(days)).toISOString().slice(0, 10)

export interface WorldOptions {
  readonly plans?: PlanTable
  readonly probe?: StoreProbe
  /** Runs before and after each durable step of the job; a defect of it is a crash there. */
  readonly step?: Effect.Effect<void>
  readonly monthlyAllowance?: number
  /** Of the engine; default: an hour, because the rounds of each minute would be most of a run of days. */
  readonly maintainMillis?: number
}

/** Providing it again for the same directory is a restart: it catches up first. */
export const storageWorld = (directory: string, options: WorldOptions = {}) => {
  const probe = options.probe ?? new StoreProbe()
  if (options.step !== undefined) {
    const { step } = options
    probe.before = ({ name }) => (name === "commit" ? step : Effect.void)
    probe.after = probe.before
  }
  const records = Layer.mergeAll(
    Accounts.layer,
    NamespaceDirectory.layer,
    PaymentJournal.layer,
    JobLog.layer,
    SchemaRegistry.layer
  ).pipe(
    Layer.provideMerge(Quotas.layer),
    Layer.provideMerge(Ledger.layer({ monthlyAllowance: options.monthlyAllowance ?? credits(1_000) })),
    Layer.provideMerge(controlOf(directory)),
    Layer.provide(SecureRandom.layerWebCrypto)
  )
  const { maintainMillis = hourMillis } = options
  const engine = Layer.unwrap(
    Effect.gen(function* () {
      const { expiresBy } = yield* JobClock
      const clock = Layer.succeed(Clock.Clock, unhurried(yield* Clock.Clock))
      return engineOf(directory, { probe, expiresBy, maintainMillis }).pipe(Layer.provide(clock))
    })
  )
  return StorageInsurance.layerWith({ plans: options.plans ?? plans }).pipe(
    Layer.provide(steppedLedger(options.step ?? Effect.void)),
    Layer.provideMerge(engine),
    Layer.provideMerge(JobClock.layer),
    Layer.provideMerge(records),
    Layer.fresh
  )
}

const hourMillis = 3_600_000

/** What the engine does every few seconds it does every hour: days of that would be most of a run. */
const unhurried = (clock: Clock.Clock): Clock.Clock => ({
  ...clock,
  sleep: (duration) => {
    const millis = Duration.toMillis(duration)
    return clock.sleep(millis < 1_000 || millis >= 60_000 ? duration : Duration.hours(1))
  },
  currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe(),
  currentTimeMillis: clock.currentTimeMillis
})

/** A start of the server at `atMillis`. */
export const start = <A, E, R>(
  directory: string,
  atMillis: number,
  work: Effect.Effect<A, E, R>,
  options?: WorldOptions
) =>
  Effect.andThen(TestClock.setTime(atMillis), Effect.provide(work, storageWorld(directory, options))).pipe(
    Effect.provideService(References.MinimumLogLevel, "None")
  )

const steppedLedger = (step: Effect.Effect<void>) => {
  const stepped = <A, E>(effect: Effect.Effect<A, E>) =>
    Effect.andThen(
      step,
      Effect.tap(effect, () => step)
    )
  return Layer.mergeAll(
    Layer.effect(
      Ledger,
      Effect.map(Ledger, (ledger) => ({
        ...ledger,
        chargeStorage: (charge) => stepped(ledger.chargeStorage(charge)),
        recordRun: (run) => stepped(ledger.recordRun(run))
      }))
    ),
    Layer.effect(
      JobLog,
      Effect.map(JobLog, (log) => ({ ...log, markDay: (job, day) => stepped(log.markDay(job, day)) }))
    )
  )
}

/**
 * The data directory as a power cut leaves it: no process closed its files. Threads write while files are copied one
 * after the other: the copy is of one moment when the files are the same as it is after it was made.
 */
export const crashed = (directory: string): string => {
  for (;;) {
    const image = temporaryDirectory()
    try {
      cpSync(directory, image, { recursive: true })
      if (contentOf(image).equals(contentOf(directory))) return image
    } catch (cause) {
      if (!isGone(cause)) throw cause
    }
  }
}

/** A file that was renamed between its listing and its copy, as the log's thread does with a segment. */
const isGone = (cause: unknown): boolean => cause instanceof Error && "code" in cause && cause.code === "ENOENT"

/** A digest of the names and bytes of all files below a directory. */
const contentOf = (directory: string): Buffer => {
  const digest = createHash("sha256")
  const names = readdirSync(directory, { recursive: true, encoding: "utf8" }).toSorted()
  for (const name of names.filter((one) => statSync(join(directory, one)).isFile())) {
    digest.update(`${name}\n`).update(readFileSync(join(directory, name)))
  }
  return digest.digest()
}

export const makeAccount = (name: string, plan: Plan) =>
  Accounts.use((accounts) => accounts.create(name, { plan, id: `acc_${name}` }))

export const deposit = (account: Account, amount: number, key: string) =>
  Ledger.use((ledger) => ledger.adjust({ account, amount, key, reason: "test" }))

export const namespaceOf = (account: Account, agentId = "agent") =>
  NamespaceDirectory.use((directory) => directory.ensure(account.id, agentId))

/** A memory that says its number. */
export const memory = (number: number, createdAt: number, fields: Partial<MemoryRecord> = {}) =>
  newMemory(memoryRecord(number, `zebra number ${number}`, { createdAt, ...fields }), axisVector(number))

export const store = Effect.fnUntraced(function* (
  account: Account,
  memories: ReadonlyArray<ReturnType<typeof memory>>,
  agentId = "agent"
) {
  const host = yield* NamespaceHost
  const ofAgent = memories.map(({ record, ...memory }) => {
    const { data, kind } = record
    return { ...memory, record: { ...record, agentId, contentHash: contentHash({ agentId, data, kind }) } }
  })
  yield* host.ask(yield* namespaceOf(account, agentId), creating(ofAgent))
})

/** Numbers of the live memories of one agent, in order. */
export const numbersOf = Effect.fnUntraced(function* (account: Account, agentId = "agent") {
  const search = yield* MemorySearch
  const key = yield* namespaceOf(account, agentId)
  const { memories } = yield* search.list([key], { includeSuperseded: true }, { after: undefined, limit: 10_000 })
  return memories.map(({ id }) => Number(id.slice(4))).toSorted((left, right) => left - right)
})

export const balanceOf = (account: Account) =>
  Ledger.use((ledger) => Effect.map(ledger.purses(account), ({ balance }) => balance))

/**
 * Backups that the service makes by itself, by a schedule or when an operator asks (contract: Operator routes). Each one is
 * the command line of the same build in a process of its own (`muniment backup`), so that digests and proofs keep no caller
 * waiting; it reads the data directory as any backup does.
 *
 * Invariant: one command runs at a time.
 */
import { spawn } from "node:child_process"
import { Clock, Context, Effect, Layer, Option, Schedule, Schema } from "effect"
import { BackupListed, type BackupState } from "@muniment/domain/api/UpkeepAdminApi"
import { Conflict } from "@muniment/domain/Errors"
import { FileCopies } from "@muniment/backup/copies/FileCopies"
import { Rounds } from "@muniment/worker/Rounds"
import type { ServerConfig } from "../Config.ts"
import { LastBackup } from "./LastBackup.ts"

export class OwnBackups extends Context.Service<
  OwnBackups,
  {
    readonly state: Effect.Effect<BackupState>
    /** Begins one, unless a command runs already. */
    readonly begin: (step: Step) => Effect.Effect<BackupState, Conflict>
  }
>()("muniment/server/OwnBackups") {
  static readonly layer = (settings: ServerConfig["backup"]) => Layer.effect(OwnBackups, make(settings))
}

type Step = "backup" | "verify"

const hourMillis = 3_600_000
/** How often it is looked whether one is due. */
const lookMillis = 10_000

const make = Effect.fnUntraced(function* (settings: ServerConfig["backup"]) {
  const copies = yield* FileCopies
  const last = yield* LastBackup
  const errand = yield* Rounds.errands({ name: "backups that were asked for" })
  const { every, keep, passphraseFile } = settings
  const place = Option.getOrUndefined(Option.map(settings.to, (to) => placeOf(to, settings)))
  const { during, known, listed } = makeCommands()
  let isLooking = false

  const isScheduled = place !== undefined && every > 0 && (yield* Effect.isSuccess(copies.demandHere))
  /** By what lies at the place: a backup elsewhere is none of this schedule. Undefined: it was not looked for yet. */
  const dueAt = Effect.map(Clock.currentTimeMillis, (now) => {
    const { backups, running } = known
    if (!isScheduled || backups === undefined) return undefined
    // One of a time to come was made by a clock that was wrong.
    const newest = running?.step === "backup" ? running : backups.find(({ startedAt }) => startedAt <= now)
    return newest === undefined ? now : newest.startedAt + every * hourMillis
  })
  const isDue = Effect.gen(function* () {
    const due = yield* dueAt
    return due !== undefined && due <= (yield* Clock.currentTimeMillis)
  })

  if (isScheduled) {
    yield* scheduled(
      Effect.gen(function* () {
        if (known.backups !== undefined && !(yield* isDue)) return undefined
        // Another command may have made one meanwhile.
        yield* listed(place)
        return (yield* isDue) ? yield* during("backup", place) : undefined
      })
    )
  }

  const state = Effect.gen(function* () {
    if (known.backups === undefined && place !== undefined && !isLooking) {
      isLooking = true
      errand(listed(place))
    }
    return {
      to: place?.to ?? null,
      isSealed: Option.isSome(passphraseFile),
      everyHours: isScheduled ? every : null,
      keep,
      lastAt: (yield* last.startedAt) ?? null,
      nextAt: (yield* dueAt) ?? null,
      ...known,
      backups: known.backups ?? []
    } satisfies BackupState
  })

  const begin = Effect.fnUntraced(function* (step: Step) {
    yield* Effect.mapError(copies.demandHere, ({ message }) => new Conflict({ code: "cluster_backup", error: message }))
    if (place === undefined) return yield* notConfigured
    errand(during(step, place))
    // The errand has begun when its answer is made.
    yield* Effect.yieldNow
    return yield* state
  })
  return OwnBackups.of({ state, begin })
})

interface Known {
  running: BackupState["running"]
  lastRun: BackupState["lastRun"]
  lastVerify: BackupState["lastVerify"]
  /** Undefined: it was not looked for yet. */
  backups: BackupState["backups"] | undefined
}

/** Commands at a place, one at a time, and what is known by them. */
const makeCommands = () => {
  const known: Known = { running: null, lastRun: null, lastVerify: null, backups: undefined }

  const listed = (from: Place) =>
    Effect.map(from.list, (found) => {
      known.backups = found
    })

  /** Undefined: something runs already. -> why it failed, or null. */
  const during = Effect.fnUntraced(function* (step: Step, at: Place) {
    if (known.running !== null) return undefined
    known.running = { step, startedAt: yield* Clock.currentTimeMillis }
    const ended = Effect.sync(() => {
      known.running = null
    })
    if (step === "verify") known.lastVerify = yield* Effect.ensuring(at.verify, ended)
    else
      known.lastRun = yield* Effect.ensuring(
        Effect.tap(at.create, () => listed(at)),
        ended
      )
    return (step === "verify" ? known.lastVerify : known.lastRun)?.problem ?? null
  })
  return { known, listed, during }
}

/** A failure is noted as that of any other round. */
const scheduled = (run: Effect.Effect<string | null | undefined>) =>
  Rounds.add({
    name: "backup",
    schedule: Schedule.spaced(lookMillis),
    isCut: true,
    work: Effect.gen(function* () {
      const problem = yield* run
      if (typeof problem === "string") return yield* Effect.fail(problem)
    })
  })

type Place = ReturnType<typeof placeOf>

/** What the command line does where the backups lie. */
const placeOf = (to: string, { keep, passphraseFile }: ServerConfig["backup"]) => {
  const secret = Option.match(passphraseFile, { onNone: () => [], onSome: (file) => ["--passphrase-file", file] })
  const command = (name: string, flag: "--to" | "--from", ...more: ReadonlyArray<string>) =>
    commandLine(["backup", name, flag, to, ...secret, ...more, "--json"])
  return {
    to,
    /** Newest first; none where it cannot be read. */
    list: Effect.map(command("list", "--from"), ({ value }) =>
      Option.getOrElse(decodeList(value), () => ({ backups: [] })).backups.toReversed()
    ),
    create: Effect.gen(function* () {
      const startedAt = yield* Clock.currentTimeMillis
      const { problem, value } = yield* command("create", "--to")
      const made = Option.getOrUndefined(decodeCreated(value))
      const pruned = made === undefined ? undefined : yield* command("prune", "--from", "--keep", String(keep))
      return {
        startedAt,
        finishedAt: yield* Clock.currentTimeMillis,
        id: made?.id ?? null,
        copiedFiles: made?.copiedFiles ?? 0,
        copiedBytes: made?.copiedBytes ?? 0,
        problem: problem ?? pruned?.problem ?? null
      }
    }),
    verify: Effect.gen(function* () {
      const { problem, value } = yield* command("verify", "--from")
      const verdict = Option.getOrUndefined(decodeVerdict(value))
      const at = yield* Clock.currentTimeMillis
      return { at, id: verdict?.id ?? null, files: verdict?.files ?? 0, faults: verdict?.faults ?? [], problem }
    })
  } as const
}

const notConfigured = new Conflict({
  code: "backup_not_configured",
  error: "the service has no place for backups: set MUNIMENT_BACKUP_TO, or run `muniment backup create --to PLACE`"
})

const Created = Schema.Struct({ id: Schema.String, copiedFiles: Schema.Int, copiedBytes: Schema.Int })
const Verdict = Schema.Struct({
  id: Schema.String,
  files: Schema.Int,
  faults: Schema.Array(Schema.Struct({ file: Schema.String, reason: Schema.String }))
})
const decodeCreated = Schema.decodeUnknownOption(Created)
const decodeVerdict = Schema.decodeUnknownOption(Verdict)
const decodeList = Schema.decodeUnknownOption(Schema.Struct({ backups: Schema.Array(BackupListed) }))
const decodeLine = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Unknown))

/** Characters kept of what a command says. */
const outputMax = 1_000_000
const problemMax = 500

interface Said {
  /** What it printed as JSON. */
  readonly value: unknown
  /** Why it failed, in its words; null: it did not. */
  readonly problem: string | null
}

/** The command line of this build. It ends with the service. */
const commandLine = (args: ReadonlyArray<string>): Effect.Effect<Said> =>
  Effect.callback((resume) => {
    const [, entry = ""] = process.argv
    const child = spawn(process.execPath, [...process.execArgv, entry, ...args], { stdio: ["ignore", "pipe", "pipe"] })
    const said = { out: "", error: "" }
    child.stdout.on("data", (part: Buffer) => (said.out = `${said.out}${part}`.slice(-outputMax)))
    child.stderr.on("data", (part: Buffer) => (said.error = `${said.error}${part}`.slice(-outputMax)))
    child.on("error", ({ message }) => resume(Effect.succeed({ value: undefined, problem: message })))
    child.on("close", (code) => {
      const line = said.out.trim().split("\n").at(-1) ?? ""
      const problem = said.error.trim().slice(-problemMax) || `the command ended with code ${code}`
      resume(Effect.succeed({ value: Option.getOrUndefined(decodeLine(line)), problem: code === 0 ? null : problem }))
    })
    return Effect.sync(() => child.kill("SIGTERM"))
  })

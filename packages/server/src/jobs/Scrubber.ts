/**
 * Reads `control.db` and the files of all agents once a week (`ScrubRounds.ts`): b-trees, and every memory with its
 * content hash. A damaged agent is mended or set aside by the engine; each finding is in the audit log.
 * A damaged `control.db` stays in use until the next start makes it again from its base and the commit log.
 */
import { join } from "node:path"
import { Clock, Context, Effect, Layer, Option, Schedule, Schema } from "effect"
import { existsSync, readFileSync } from "node:fs"
import { controlFile } from "@muniment/backup/BackupFormat"
import { AuditLog } from "@muniment/control/audit/AuditLog"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import { type Comparison, ControlDatabase } from "@muniment/control/database/ControlDatabase"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import type { FileVerdict, Pace } from "@muniment/engine/store/NamespaceStore"
import { type StoreError, StoreFault } from "@muniment/engine/store/StoreError"
import { replacePrivateFile } from "@muniment/trust/PrivateFile"
import { Rounds } from "@muniment/worker/Rounds"
import { DataDirectory } from "../DataDirectory.ts"

interface ScrubSettings {
  /** From the end of one round to the start of the next; 0: no rounds. */
  readonly days: number
  readonly mebibytesPerSecond: number
}

const dayMillis = 86_400_000
/** Pause after the start, and between two looks whether a round is due. */
const everyMillis = 60_000

export class Scrubber extends Context.Service<
  Scrubber,
  {
    /** Findings of the round under way so far, or of the last one. */
    readonly note: Effect.Effect<ScrubNote>
  }
>()("muniment/server/Scrubber") {
  static readonly layer = (settings: ScrubSettings) => Layer.effect(Scrubber, make(settings))
}

const make = Effect.fnUntraced(function* ({ days, mebibytesPerSecond }: ScrubSettings) {
  const audit = yield* AuditLog
  const directory = yield* NamespaceDirectory
  const host = yield* NamespaceHost
  const { path } = yield* DataDirectory
  const { comparison } = yield* ControlDatabase
  const control = controlOf(join(path, controlFile), host, comparison)
  const files = () => [control, ...directory.all().map((key) => agentFile(host, key))]
  const onDamage = ({ file, isMended, reason }: ScrubNote["damaged"][number]) =>
    audit.record({ action: "scrub.damage", subject: file, detail: { reason, isMended } }).pipe(
      Effect.catch(({ code }) => Effect.logWarning("a finding of the scrubber is not in the audit log", { code })),
      Effect.andThen(Effect.logError("the scrubber has found damage", { file, reason, isMended }))
    )
  const options = {
    intervalMillis: days * dayMillis,
    bytesPerSecond: mebibytesPerSecond * 1_048_576,
    path: join(path, "scrub.json")
  }
  const rounds = new ScrubRounds(options, files, onDamage)
  // The start has made it again.
  if (!(yield* comparison.isDamaged)) yield* rounds.noteMended(controlFile)
  if (days > 0) {
    yield* Effect.addFinalizer(() => (rounds.note.startedAt === null ? Effect.void : rounds.save))
    const base = Effect.flatMap(comparison.isDue, (isDue) => (isDue ? rounds.checkNow(control) : Effect.void))
    yield* Rounds.add({
      name: "scrubber",
      schedule: Schedule.spaced(everyMillis),
      work: Effect.andThen(base, rounds.run),
      // Its findings are noted: the next start goes on behind them.
      isCut: true
    })
  }
  return Scrubber.of({ note: Effect.sync(() => rounds.note) })
})

/** `control.db`: what its b-trees say, then what its base and the commit log say. */
const controlOf = (filename: string, host: NamespaceHost["Service"], comparison: Comparison): ScrubbedFile => ({
  name: controlFile,
  check: (pace) =>
    Effect.gen(function* () {
      const verdict = yield* host.checkFile(filename, pace)
      if (verdict.faults.length > 0) return verdict
      const { faults } = yield* Effect.mapError(comparison.check, (cause) => new StoreFault({ cause }))
      return { ...verdict, faults }
    }),
  isDamaged: Effect.succeed(true)
})

/** A file of one agent, which the engine reads. */
const agentFile = (
  host: NamespaceHost["Service"],
  key: Parameters<NamespaceHost["Service"]["check"]>[0]
): ScrubbedFile => {
  const name = `namespaces/${key.tag}.db`
  return {
    name,
    check: (pace) => host.check(key, pace),
    isDamaged: Effect.map(host.status, ({ quarantined }) => quarantined.some(({ file }) => file === name))
  }
}

export interface ScrubbedFile {
  /** In the data directory: `control.db`, `namespaces/<tag>.db`. */
  readonly name: string
  /** Reads the whole file; mends it or sets it aside if it is damaged. */
  readonly check: (pace: Pace) => Effect.Effect<FileVerdict, StoreError>
  /** Whether the file is still damaged after `check`. */
  readonly isDamaged: Effect.Effect<boolean>
}

interface ScrubOptions {
  /** From the end of one round to the start of the next, in milliseconds. */
  readonly intervalMillis: number
  readonly bytesPerSecond: number
  /** Path of the note. */
  readonly path: string
}

/** Notes the position at most this often. */
const noteEachMillis = 10_000

/**
 * Rounds in which every file is read once, one after the other: what rots unread is found before its last copy is
 * gone. The position is in `scrub.json` in the data directory, so that a round goes on after a restart.
 *
 * Invariants: a round reads no more than `bytesPerSecond` on average; after a restart it goes on behind the last file
 * that is noted; a file that cannot be read now holds up no other.
 */
export class ScrubRounds {
  readonly #options: ScrubOptions
  readonly #files: () => ReadonlyArray<ScrubbedFile>
  readonly #onDamage: (damaged: ScrubNote["damaged"][number]) => Effect.Effect<void>
  #note: ScrubNote
  #notedAt = 0

  constructor(
    options: ScrubOptions,
    files: () => ReadonlyArray<ScrubbedFile>,
    onDamage: (damaged: ScrubNote["damaged"][number]) => Effect.Effect<void>
  ) {
    this.#options = options
    this.#files = files
    this.#onDamage = onDamage
    this.#note = readScrubNote(options.path)
  }

  get note(): ScrubNote {
    return this.#note
  }

  /** Goes on with a round, or begins one if it is due. */
  get run(): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const nowMillis = yield* Clock.currentTimeMillis
      const { finishedAt, startedAt } = this.#note
      if (startedAt === null) {
        if (finishedAt !== null && nowMillis - finishedAt < this.#options.intervalMillis) return
        this.#note = { finishedAt, startedAt: nowMillis, position: "", files: 0, bytes: 0, damaged: [] }
      }
      const { position } = this.#note
      const files = this.#files()
        .filter(({ name }) => name > position)
        .sort((a, b) => (a.name < b.name ? -1 : 1))
      for (const file of files) yield* this.#readOne(file)
      this.#note = { ...this.#note, startedAt: null, position: "", finishedAt: yield* Clock.currentTimeMillis }
      yield* this.save
    })
  }

  /** Reads a file between rounds. */
  checkNow(file: ScrubbedFile): Effect.Effect<void> {
    return Effect.andThen(this.#look(file), this.save)
  }

  /** Notes that a file's damage is no longer there. */
  noteMended(file: string): Effect.Effect<void> {
    const isOf = (found: ScrubNote["damaged"][number]) => found.file === file && !found.isMended
    if (!this.#note.damaged.some(isOf)) return Effect.void
    const damaged = this.#note.damaged.map((found) => (isOf(found) ? { ...found, isMended: true } : found))
    this.#note = { ...this.#note, damaged }
    return Effect.andThen(
      Effect.forEach(
        damaged.filter((found) => found.file === file),
        this.#onDamage
      ),
      this.save
    )
  }

  get save(): Effect.Effect<void> {
    return Effect.try(() => writeScrubNote(this.#options.path, this.#note)).pipe(
      Effect.catch((cause) => Effect.logWarning("the position of the scrubber is not noted", { cause }))
    )
  }

  #readOne(file: ScrubbedFile): Effect.Effect<void> {
    return Effect.andThen(this.#look(file), this.#moveOn(file.name))
  }

  #look(file: ScrubbedFile): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const pace: Pace = (bytes) => Effect.sleep((bytes * 1_000) / this.#options.bytesPerSecond)
      const verdict = yield* file.check(pace)
      const { bytes, damaged, files } = this.#note
      this.#note = { ...this.#note, files: files + 1, bytes: bytes + verdict.bytes }
      if (verdict.faults.length === 0) return
      const found = { file: file.name, reason: verdict.faults.join("; "), isMended: !(yield* file.isDamaged) }
      const others = damaged.filter((one) => one.file !== file.name)
      this.#note = { ...this.#note, damaged: [...others, found].slice(-damagedMax) }
      yield* this.#onDamage(found)
    }).pipe(
      Effect.catch((error) =>
        Effect.logWarning("the scrubber cannot read a file now; its next round tries again", { file: file.name, error })
      )
    )
  }

  #moveOn(position: string): Effect.Effect<void> {
    return Effect.flatMap(Clock.currentTimeMillis, (nowMillis) => {
      this.#note = { ...this.#note, position }
      if (nowMillis - this.#notedAt < noteEachMillis) return Effect.void
      this.#notedAt = nowMillis
      return this.save
    })
  }
}

/** Damaged files of a round that are kept. */
const damagedMax = 100

/** A damaged file that a round has found. `reason` names tables and slots, never content. */
const DamagedFile = Schema.Struct({ file: Schema.String, reason: Schema.String, isMended: Schema.Boolean })

const ScrubNote = Schema.Struct({
  /** Milliseconds; null: no round has ended, or none is under way. */
  finishedAt: Schema.NullOr(Schema.Int),
  startedAt: Schema.NullOr(Schema.Int),
  /** The last file that this round has read. */
  position: Schema.String,
  /** Counts of the round under way, or of the last one. */
  files: Schema.Int,
  bytes: Schema.Finite,
  damaged: Schema.Array(DamagedFile)
})
type ScrubNote = typeof ScrubNote.Type

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(ScrubNote))

const noRound: ScrubNote = { finishedAt: null, startedAt: null, position: "", files: 0, bytes: 0, damaged: [] }

/** A note that is missing or cannot be read is none: the next round begins at once. */
const readScrubNote = (path: string): ScrubNote =>
  existsSync(path) ? Option.getOrElse(decode(readFileSync(path, "utf8")), () => noRound) : noRound

const writeScrubNote = (path: string, note: ScrubNote): void => replacePrivateFile(path, `${JSON.stringify(note)}\n`)

/**
 * Reads `control.db` and the files of all agents once a week (`ScrubRounds.ts`): b-trees, and every memory with its
 * content hash. A damaged agent is mended or set aside by the engine; each finding is in the audit log.
 * A damaged `control.db` stays in use until the next start makes it again from its base and the commit log.
 */
import { join } from "node:path"
import { Context, Effect, Layer, Schedule } from "effect"
import { controlFile } from "@muniment/backup/BackupFormat"
import { AuditLog } from "@muniment/control/audit/AuditLog"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import { type Comparison, ControlDatabase } from "@muniment/control/database/ControlDatabase"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { StoreFault } from "@muniment/engine/store/StoreError"
import { Rounds } from "@muniment/worker/Rounds"
import { DataDirectory } from "../DataDirectory.ts"
import { type ScrubNote, type ScrubbedFile, ScrubRounds } from "./ScrubRounds.ts"

export interface ScrubSettings {
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
  if (comparison !== undefined && !(yield* comparison.isDamaged)) yield* rounds.noteMended(controlFile)
  if (days > 0) {
    yield* Effect.addFinalizer(() => (rounds.note.startedAt === null ? Effect.void : rounds.save))
    const isBaseDue = comparison?.isDue ?? Effect.succeed(false)
    const base = Effect.flatMap(isBaseDue, (isDue) => (isDue ? rounds.checkNow(control) : Effect.void))
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
const controlOf = (
  filename: string,
  host: NamespaceHost["Service"],
  comparison: Comparison | undefined
): ScrubbedFile => ({
  name: controlFile,
  check: (pace) =>
    Effect.gen(function* () {
      const verdict = yield* host.checkFile(filename, pace)
      if (comparison === undefined || verdict.faults.length > 0) return verdict
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

/**
 * A directory that was just restored from a backup, before any service opens it: its files follow the commit log up to
 * the moment, by the same steps as at the start after a kill.
 *
 * Invariant: once it is ready the log is empty, so that nothing which was removed later than the files were copied is
 * in it; if a file cannot follow, the log stays.
 */
import { existsSync, globSync, mkdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { Effect, Layer, References } from "effect"
import { SecureRandom } from "effect/crypto"
import { controlFile, namespaceFile, namespaceTagOf } from "@muniment/backup/BackupFormat"
import type { VerifyFault } from "@muniment/backup/RestoreBackup"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import { Quotas } from "@muniment/control/accounts/Accounts"
import { Ledger } from "@muniment/control/credits/Ledger"
import { checkLedger } from "@muniment/control/LedgerCheck"
import { PaymentJournal } from "@muniment/control/payments/PaymentJournal"
import type { NamespaceTag } from "@muniment/domain/Ids"
import { credits } from "@muniment/domain/Money"
import { CommitLog } from "@muniment/engine/log/CommitLog"
import { RestoredLog } from "@muniment/engine/log/LogArchive"
import { fileLogLayer } from "@muniment/engine/log/RunningLog"
import { logFolder } from "@muniment/engine/log/segmentFiles"
import { NamespaceStore } from "@muniment/engine/store/NamespaceStore"
import { logFirstStore } from "@muniment/engine/store/logged/LogFirstStore"
import { namespaceFolder, removeFiles, syncClosedCopy } from "@muniment/engine/store/sqlite/namespaceFiles"
import { loggedControl } from "../CommitLogs.ts"
import { wholeLog } from "./openRestoredLog.ts"

/** Brings all files to the end of the log; -> paths of those that cannot follow it, which the service will set aside. */
export const settleRestored = Effect.fn("RestoredDirectory.settle")(function* (directory: string) {
  if (!existsSync(join(directory, logFolder))) return []
  const { behind, last } = yield* opened(directory, followed(directory))
  if (behind.length > 0) return behind.map(namespaceFile)
  for (const tag of tagsIn(directory)) yield* syncClosedCopy(join(directory, namespaceFile(tag)))
  yield* syncClosedCopy(join(directory, controlFile))
  yield* Effect.sync(() => beginLog(join(directory, logFolder), last))
  return []
})

/** Files of a directory that no service uses follow its log, if it has one, as at a start; -> paths of those that cannot. */
export const settleFiles = Effect.fn("RestoredDirectory.settleFiles")(function* (directory: string) {
  if (!existsSync(join(directory, logFolder))) return []
  const settled = Effect.gen(function* () {
    const log = yield* (yield* CommitLog).current
    const { settleAll, storedBytes } = yield* NamespaceStore
    for (const key of (yield* NamespaceDirectory).all()) if (log.removedThrough(key.tag) > 0) yield* storedBytes(key)
    return yield* settleAll
  })
  return (yield* opened(directory, settled)).map(namespaceFile)
})

/** A log that is empty, behind the records that files made elsewhere say they have. */
export const beginLogBehind = (directory: string, last: number): Effect.Effect<void> =>
  Effect.sync(() => {
    mkdirSync(join(directory, logFolder), { recursive: true, mode: 0o700 })
    beginLog(join(directory, logFolder), last)
  })

/** -> what is wrong with the service that would start over the directory: books, and every memory's content hash. */
export const proveRestored = Effect.fn("RestoredDirectory.prove")(function* (
  directory: string,
  onProgress: (done: number, total: number) => Effect.Effect<void>
) {
  mkdirSync(join(directory, logFolder), { recursive: true })
  return yield* opened(
    directory,
    Effect.gen(function* () {
      const { behind } = yield* followed(directory)
      const faults: Array<VerifyFault> = behind.map((tag) => fault(tag, "it cannot follow the commit log"))
      const { problems } = yield* checkLedger
      for (const reason of problems) faults.push({ file: controlFile, reason })
      const { check } = yield* NamespaceStore
      const keys = (yield* NamespaceDirectory).all().filter(({ tag }) => !behind.includes(tag))
      for (const [at, key] of keys.entries()) {
        const verdict = yield* check(key, () => Effect.void)
        for (const reason of verdict.faults) faults.push(fault(key.tag, reason))
        yield* onProgress(at + 1, keys.length)
      }
      return faults
    })
  )
})

const fault = (tag: NamespaceTag, reason: string): VerifyFault => ({ file: namespaceFile(tag), reason })

/** The same layers as the service's; what a start after a kill would report is expected here. */
const opened = <A, E, R>(directory: string, use: Effect.Effect<A, E, R>) => {
  const log = fileLogLayer({ directory: join(directory, logFolder) })
  const layer = PaymentJournal.layer.pipe(
    Layer.provideMerge(Ledger.layer({ monthlyAllowance: credits(0) })),
    Layer.provideMerge(NamespaceDirectory.layer),
    Layer.provideMerge(Quotas.layer),
    Layer.provideMerge(loggedControl(directory)),
    Layer.provideMerge(logFirstStore(directory)),
    Layer.provideMerge(log),
    Layer.provide(SecureRandom.layerWebCrypto)
  )
  return use.pipe(Effect.provide(layer), Effect.provideService(References.MinimumLogLevel, "None"))
}

/** -> namespaces whose files cannot follow, and the last ordinal. */
const followed = Effect.fnUntraced(function* (directory: string) {
  const log = yield* (yield* CommitLog).current
  const { settleAll, storedBytes } = yield* NamespaceStore
  const known = new Map((yield* NamespaceDirectory).all().map((key) => [key.tag, key]))
  for (const tag of tagsIn(directory)) {
    const key = known.get(tag)
    if (key === undefined) yield* Effect.sync(() => removeFiles(join(directory, namespaceFolder), tag))
    // Its file follows now, that is, goes if it is from before the removal.
    else if (log.removedThrough(tag) > 0) yield* storedBytes(key)
  }
  return { behind: yield* settleAll, last: log.syncedOrdinal() }
})

const tagsIn = (directory: string): ReadonlyArray<NamespaceTag> =>
  globSync(`${namespaceFolder}/*.db`, { cwd: directory }).flatMap((file) => namespaceTagOf(file) ?? [])

/** A log that continues behind its predecessor. */
const beginLog = (folder: string, last: number): void => {
  rmSync(folder, { recursive: true })
  mkdirSync(folder, { mode: 0o700 })
  new RestoredLog(folder, last + 1, last, wholeLog).close()
}

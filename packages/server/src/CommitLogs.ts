/** The commit log as the server uses it: commits of namespaces and changes of `control.db` in one order. */
import { join } from "node:path"
import { Effect, Layer } from "effect"
import { type ChangeLog, ChangeLogUnusable, type OpenChangeLog } from "@muniment/control/database/ChangeLog"
import { ControlDatabase } from "@muniment/control/database/ControlDatabase"
import { CommitLog, type CommitLogShape } from "@muniment/engine/log/CommitLog"
import type { LogError, LogFault } from "@muniment/engine/log/LogError"
import { processTag } from "@muniment/engine/log/logFormat"
import { fileLogLayer } from "@muniment/engine/log/RunningLog"
import { logFolder } from "@muniment/engine/log/segmentFiles"
import type { NamespaceStore } from "@muniment/engine/store/NamespaceStore"
import { HoldsMemories, logFirstStore } from "@muniment/engine/store/logged/LogFirstStore"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"

export interface StoreLayers {
  readonly control: Layer.Layer<ControlDatabase, ControlFailure | LogFault>
  readonly namespaces: Layer.Layer<NamespaceStore, LogFault, NamespaceDirectory>
}

type ControlFailure = Layer.Error<ReturnType<typeof ControlDatabase.layer>>

/** `control.db` and the files of the namespaces, with one log under both. */
export const storeLayers = (dataDirectory: string): StoreLayers => {
  const log = fileLogLayer({ directory: join(dataDirectory, logFolder) })
  return {
    control: loggedControl(dataDirectory).pipe(Layer.provide(log)),
    namespaces: logFirstStore(dataDirectory).pipe(Layer.provide(Layer.merge(log, holdsMemories)))
  }
}

/** By the bytes that its last count saved. */
const holdsMemories = Layer.effect(
  HoldsMemories,
  Effect.map(
    NamespaceDirectory,
    ({ bytesOf }) =>
      (tag) =>
        (bytesOf(tag) ?? 0) > 0
  )
)

/** `control.db` over the log of the process. */
export const loggedControl = (dataDirectory: string) =>
  Layer.unwrap(Effect.map(CommitLog, (logs) => ControlDatabase.layer(dataDirectory, changeLogOf(logs))))

/** The part of the log that `control.db` uses. */
const changeLogOf = (logs: CommitLog["Service"]): ChangeLog => {
  const open = new WeakMap<CommitLogShape, OpenChangeLog>()
  return {
    current: Effect.map(usable(logs.current), (log) => {
      const known = open.get(log) ?? openChangeLogOf(log)
      open.set(log, known)
      return known
    })
  }
}

const openChangeLogOf = (log: CommitLogShape): OpenChangeLog => ({
  newest: usable(log.newestControl),
  behind: (number) => usable(log.controlBehind(number)),
  append: (change, atMillis) =>
    Effect.map(usable(log.appendControl({ ...change, atMillis })), ({ ordinal }) => ordinal),
  syncedOrdinal: log.syncedOrdinal,
  erase: (throughOrdinal, atMillis) => Effect.asVoid(usable(log.erase(processTag, throughOrdinal, atMillis))),
  settled: (ordinal) => log.rebase(processTag, ordinal)
})

const usable = <A>(step: Effect.Effect<A, LogError>): Effect.Effect<A, ChangeLogUnusable> =>
  Effect.mapError(step, (error) => new ChangeLogUnusable({ cause: error }))

/** One commit log for all stores of a directory that are open at the same time, as in a service; it closes with the last. */
import { Effect, Layer, RcMap, Scope } from "effect"
import { join } from "node:path"
import { CommitLog } from "@muniment/engine/log/CommitLog"
import { openFileLog } from "@muniment/engine/log/FileLog"
import { logFolder } from "@muniment/engine/log/segmentFiles"
import { type NamespaceKey, NamespaceStore } from "@muniment/engine/store/NamespaceStore"
import { logFirstStore } from "@muniment/engine/store/logged/LogFirstStore"

/** Small, so that tests pass from one segment to the next. */
const segmentBytes = 262_144

const logs = Effect.runSync(
  RcMap.make({
    lookup: (directory: string) =>
      Effect.orDie(openFileLog({ directory: join(directory, logFolder), segmentBytes, reserveBytes: segmentBytes }))
  }).pipe(Effect.provideService(Scope.Scope, Scope.makeUnsafe()))
)

export const sharedLog = (directory: string): Layer.Layer<CommitLog> =>
  Layer.effect(
    CommitLog,
    Effect.map(RcMap.get(logs, directory), (log) => ({
      current: Effect.succeed(log),
      status: Effect.sync(() => log.status)
    }))
  )

export const logFirst = (directory: string): Layer.Layer<NamespaceStore> =>
  logFirstStore(directory).pipe(Layer.provide(sharedLog(directory)))

/** A namespace of a store of its own, which closes with it. */
export const openedIn = (directory: string, key: NamespaceKey) =>
  Effect.flatMap(Layer.build(Layer.fresh(logFirst(directory))), (services) =>
    Effect.provide(
      NamespaceStore.use(({ open }) => open(key)),
      services
    )
  )

/** control.db over a log in memory, for tests of its services; `LoggedControl.ts` has it over a commit log. */
import { Effect, Layer } from "effect"
import {
  type ChangeLog,
  ChangeLogUnusable,
  type ControlChange,
  type OpenChangeLog
} from "@muniment/control/database/ChangeLog"
import { ControlDatabase } from "@muniment/control/database/ControlDatabase"
import { liveClock } from "../../support/liveClock.ts"

/** A log in memory, which fails while it is told to. */
export const memoryLog = () => {
  const changes: Array<ControlChange> = []
  const state = { changes, isFailing: false, syncedMax: Infinity, settled: 0 }
  const make = (): OpenChangeLog => ({
    newest: Effect.sync(() => changes.at(-1)),
    behind: (number) => Effect.sync(() => changes.filter((change) => change.number > number)),
    append: (change) =>
      Effect.suspend(() =>
        state.isFailing
          ? Effect.fail(new ChangeLogUnusable({ cause: "no room" }))
          : Effect.sync(() => changes.push({ ...change, changes: change.changes.slice() as Uint8Array | "base" }))
      ),
    syncedOrdinal: () => Math.min(changes.length, state.syncedMax),
    erase: (throughOrdinal) =>
      Effect.sync(() => {
        for (const [at, change] of changes.entries())
          if (at < throughOrdinal && change.changes !== "base") changes[at] = { ...change, changes: "erased" }
      }),
    settled: (ordinal) => Effect.sync(() => void (state.settled = ordinal))
  })
  let open = make()
  const logs: ChangeLog = { current: Effect.sync(() => open) }
  return { state, logs, reopen: () => (open = make()) }
}

/** Of the directories of this process: providing one again is a restart. */
const logs = new Map<string, ChangeLog>()

export const controlOf = (dataDirectory: string) => {
  const log = logs.get(dataDirectory) ?? memoryLog().logs
  logs.set(dataDirectory, log)
  return Layer.provide(ControlDatabase.layer(dataDirectory, log), liveClock)
}

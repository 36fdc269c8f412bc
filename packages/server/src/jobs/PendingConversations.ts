/**
 * Reads conversations that could not be read when they were stored: the reader was busy, cold or failing, or a kill came
 * between. Durable without a list of its own: what is pending stands in the namespaces' files.
 */
import { Context, Effect, Layer } from "effect"
import type { NamespaceTag } from "@muniment/domain/Ids"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import { ConversationExtraction } from "../extraction/ConversationExtraction.ts"

/** After a start: a client that repeats what a kill cut off comes first, and gets the result in its answer. */
const startMillis = 5_000
/** Between a failure and the next round: a reader that is busy or failing gets some time. */
const roundMillis = 5_000

export class PendingConversations extends Context.Service<
  PendingConversations,
  {
    /** Conversations that wait, as of the last round, and those that failed since. */
    readonly count: () => number
  }
>()("muniment/server/PendingConversations") {
  static readonly layer = Layer.effect(
    this,
    Effect.suspend(() => make)
  )
}

const make = Effect.gen(function* () {
  const host = yield* NamespaceHost
  const directory = yield* NamespaceDirectory
  const { resume, untilPending } = yield* ConversationExtraction
  const due = new Map<NamespaceTag, { readonly key: NamespaceKey; readonly count: number }>()

  const note = (key: NamespaceKey, count: number) =>
    Effect.sync(() => {
      if (count > 0) due.set(key.tag, { key, count })
      else due.delete(key.tag)
    })
  const listen = Effect.flatMap(untilPending, (key) => note(key, (due.get(key.tag)?.count ?? 0) + 1))
  const lookAround = Effect.forEach(
    directory.all(),
    (key) =>
      host
        .readRecords(key, (reader) => reader.pendingReadings(1))
        .pipe(
          Effect.flatMap((found) => (found.length > 0 ? note(key, found.length) : Effect.void)),
          // A file that is set aside keeps what it has.
          Effect.ignore,
          Effect.andThen(Effect.yieldNow)
        ),
    { discard: true }
  )
  const round = Effect.suspend(() =>
    Effect.forEach(
      [...due.values()],
      ({ key }) =>
        resume(key).pipe(
          Effect.flatMap((left) => note(key, left)),
          Effect.ignore
        ),
      { discard: true }
    )
  )
  yield* Effect.forkScoped(Effect.forever(listen))
  yield* Effect.sleep(startMillis).pipe(
    Effect.andThen(lookAround),
    Effect.andThen(Effect.forever(Effect.andThen(round, Effect.sleep(roundMillis)))),
    Effect.forkScoped
  )
  return PendingConversations.of({ count: () => due.values().reduce((sum, { count }) => sum + count, 0) })
})

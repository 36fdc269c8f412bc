/**
 * The namespaces whose entities are on this node now. Their callers here ask the engine without a message.
 *
 * Invariant: an entity leaves after its last direct caller, so none of them opens a namespace that has moved away.
 */
import { Context, Deferred, Effect, Layer } from "effect"
import type { NamespaceTag } from "@muniment/domain/Ids"

/**
 * A direct caller does not keep an entity from becoming idle. So after this long one call goes as a message again:
 * a part of the entity's `maxIdleMillis`, in milliseconds.
 */
export const maxIdleMillis = 300_000
const messageEveryMillis = maxIdleMillis / 3

interface Resident {
  users: number
  /** When the last message came: milliseconds. */
  messageAtMillis: number
  /** The entity leaves when its users have left. */
  leaving: Deferred.Deferred<void> | undefined
}

export class Residents extends Context.Service<
  Residents,
  {
    /** The entity is here, or has had a message. */
    readonly arrive: (tag: NamespaceTag, nowMillis: number) => void
    /** Refuses direct callers from now on, and waits for those that are there. */
    readonly leave: (tag: NamespaceTag) => Effect.Effect<void>
    /** `direct` if the entity is here, else `message`. */
    readonly choose: <A, E>(
      tag: NamespaceTag,
      nowMillis: number,
      direct: Effect.Effect<A, E>,
      message: Effect.Effect<A, E>
    ) => Effect.Effect<A, E>
  }
>()("muniment/cluster/Residents") {
  static readonly layer = Layer.sync(Residents, () => {
    const residents = new Map<NamespaceTag, Resident>()
    return Residents.of({
      arrive: (tag, nowMillis) => {
        const resident = residents.get(tag)
        if (resident === undefined) residents.set(tag, { users: 0, messageAtMillis: nowMillis, leaving: undefined })
        else resident.messageAtMillis = nowMillis
      },
      leave: (tag) =>
        Effect.suspend(() => {
          const resident = residents.get(tag)
          residents.delete(tag)
          if (resident === undefined || resident.users === 0) return Effect.void
          resident.leaving = Deferred.makeUnsafe<void>()
          return Deferred.await(resident.leaving)
        }),
      choose: (tag, nowMillis, direct, message) =>
        Effect.suspend(() => {
          const resident = residents.get(tag)
          if (resident === undefined || nowMillis - resident.messageAtMillis > messageEveryMillis) return message
          resident.users++
          return Effect.ensuring(
            direct,
            Effect.suspend(() =>
              --resident.users === 0 && resident.leaving !== undefined
                ? Deferred.succeed(resident.leaving, undefined)
                : Effect.void
            )
          )
        })
    })
  })
}

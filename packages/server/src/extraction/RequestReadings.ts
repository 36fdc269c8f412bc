/**
 * Readings that requests began. A request waits for its reading, or leaves it after a while: then it goes on by itself,
 * and what it does not finish is read in the background. A reading that was left has been charged, so a repetition of
 * its request is free until it is over.
 */
import { Deferred, Effect, Fiber, Queue, Scope } from "effect"
import { Limits } from "@muniment/domain/Limits"
import type { NamespaceTag } from "@muniment/domain/Ids"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { RoundBook } from "@muniment/worker/RoundBook"

export type RequestReadings = Effect.Success<typeof makeRequestReadings>

/** One text for a reading of an agent: requests and the background know it by the same. */
export const readingKey = ({ account, agentId }: Pick<NamespaceKey, "account" | "agentId">, id: string): string =>
  JSON.stringify([account, agentId, id])

export const makeRequestReadings = Effect.gen(function* () {
  const scope = yield* Scope.Scope
  const untilStop = Deferred.await((yield* RoundBook.current).stopping)
  const wake = yield* Queue.sliding<void>(1)
  /** One entry a namespace, however many of its readings were left. */
  const left = new Map<NamespaceTag, NamespaceKey>()
  const underWay = new Map<string, Fiber.Fiber<unknown, unknown>>()
  const paid = new Set<string>()

  const note = (namespace: NamespaceKey): void => {
    left.set(namespace.tag, namespace)
    Queue.offerUnsafe(wake, undefined)
  }

  return {
    /** The service stops: what is left is read after the next start. */
    untilStop,
    /** The result of `reading`; "left" if `patience` ends first, while the reading goes on. */
    run: Effect.fnUntraced(function* <A, E>(key: string, reading: Effect.Effect<A, E>, patience: Effect.Effect<void>) {
      const fiber = yield* Effect.forkIn(reading, scope)
      underWay.set(key, fiber)
      fiber.addObserver(() => underWay.delete(key))
      return yield* Effect.raceFirst(Fiber.join(fiber), Effect.as(patience, "left" as const)).pipe(
        Effect.onInterrupt(() => Fiber.interrupt(fiber))
      )
    }),
    /** Notes that something is to be read in the background, without a request. */
    note: (namespace: NamespaceKey) => Effect.sync(() => note(namespace)),
    /** Hands over to the background what a request does not wait for. */
    leave: (namespace: NamespaceKey, key: string, isPaid: boolean) =>
      Effect.sync(() => {
        if (isPaid) paid.add(key)
        note(namespace)
        underWay.get(key)?.addObserver(() => note(namespace))
      }),
    /** Waits until requests have left readings; their namespaces. */
    untilLeft: Queue.take(wake).pipe(
      Effect.map(() => {
        const namespaces = [...left.values()]
        left.clear()
        return namespaces
      })
    ),
    /** Whether the request that began the reading goes on with it; its namespace is looked at again at its end. */
    isUnderWay: (namespace: NamespaceKey, id: string) => {
      const fiber = underWay.get(readingKey(namespace, id))
      fiber?.addObserver(() => note(namespace))
      return fiber !== undefined
    },
    isPaid: (key: string) => paid.has(key),
    /** Whether a reading that was left is over, after a wait for it. */
    isOver: Effect.fnUntraced(function* (key: string, isPatient: boolean) {
      const fiber = underWay.get(key)
      if (fiber === undefined) return true
      const millis = isPatient ? Limits.extractionDeadlineMillis : Limits.extractionWaitMillis
      yield* Effect.raceFirst(Effect.timeoutOption(Fiber.await(fiber), millis), untilStop)
      return !underWay.has(key)
    }),
    /** The reading was carried out. */
    end: (key: string) => paid.delete(key)
  }
})

/** What waits for the background after requests have left their readings. */
import { it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { expect } from "vitest"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { makeRequestReadings } from "@muniment/server/extraction/RequestReadings"

const namespace = (tag: string) => ({ tag, account: "acc_1", agentId: tag }) as unknown as NamespaceKey

it.effect("is one entry a namespace, however many of its readings were left", () =>
  Effect.gen(function* () {
    const { leave, untilLeft } = yield* makeRequestReadings
    for (let count = 0; count < 1_000; count++) {
      yield* leave(namespace("a"), `reading ${count}`, false)
      yield* leave(namespace("b"), `reading ${count}`, false)
    }
    expect(new Set((yield* untilLeft).map(({ tag }) => tag))).toEqual(new Set(["a", "b"]))
    const again = yield* Effect.forkChild(untilLeft)
    yield* Effect.yieldNow
    expect(again.pollUnsafe()).toBeUndefined()
    yield* leave(namespace("c"), "another", false)
    expect((yield* Fiber.join(again)).map(({ tag }) => tag)).toEqual(["c"])
  }).pipe(Effect.scoped)
)

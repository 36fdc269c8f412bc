/** What waits for the background after requests have left their readings. */
import { Effect, Fiber } from "effect"
import { expect } from "vitest"
import { makeRequestReadings } from "@muniment/server/extraction/PendingReadings"
import { namespaceKey } from "../../../support/EngineFixtures.ts"
import { it } from "../../../support/it.ts"

it.effect("is one entry a namespace, however many of its readings were left", function* () {
  const { leave, untilLeft } = yield* makeRequestReadings
  for (let count = 0; count < 1_000; count++) {
    yield* leave(namespaceKey("a"), `reading ${count}`, false)
    yield* leave(namespaceKey("b"), `reading ${count}`, false)
  }
  expect(new Set((yield* untilLeft).map(({ agentId }) => agentId))).toEqual(new Set(["a", "b"]))
  const again = yield* Effect.forkChild(untilLeft)
  yield* Effect.yieldNow
  expect(again.pollUnsafe()).toBeUndefined()
  yield* leave(namespaceKey("c"), "another", false)
  expect((yield* Fiber.join(again)).map(({ agentId }) => agentId)).toEqual(["c"])
})

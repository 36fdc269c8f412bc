/** The deadline of a reading, and what a caller is told who gets nothing else (contract: Conversations). */
import { expect } from "vitest"
import type { Extractor } from "@muniment/insight/extraction/Extractor"
import { extractInTime, refused } from "@muniment/server/extraction/extractInTime"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { it } from "../../../support/it.ts"

const request = {
  account: "a",
  kinds: [],
  messages: [{ role: "user", content: "I live in Oslo." }],
  context: [],
  summary: undefined,
  conversationDate: "2026-03-04"
} as const
const nothing = { candidates: [], dropped: [], summary: undefined }

const reader = (own: Partial<Extractor["Service"]>): Extractor["Service"] => ({
  name: "rules",
  problem: Effect.undefined,
  extract: () => Effect.succeed(nothing),
  extractAtOnce: undefined,
  ready: () => Effect.void,
  underWay: () => Effect.succeed(0),
  untilFree: () => Effect.void,
  estimate: () => Effect.undefined,
  ...own
})

it.effect("counts from the end of the reader's start", function* () {
  const slow = reader({
    ready: () => Effect.sleep("25 seconds"),
    extract: () => Effect.delay(Effect.succeed(nothing), 900)
  })
  const reading = yield* Effect.forkChild(extractInTime(slow, 1_000, request, slow.extract), { startImmediately: true })
  yield* TestClock.adjust("25 seconds")
  yield* TestClock.adjust(900)
  expect(yield* Fiber.join(reading)).toEqual(nothing)
})

it.effect.each([
  { reads: "rules", underWay: 1, bound: "rules_timeout" },
  { reads: "a language model", underWay: undefined, bound: "model_timeout" }
])("names $reads where that was late, and blames no length", function* ({ bound, underWay }) {
  const late = reader({ extract: () => Effect.never, underWay: () => Effect.succeed(underWay) })
  const reading = yield* Effect.forkChild(Effect.flip(extractInTime(late, 1_000, request, late.extract)), {
    startImmediately: true
  })
  yield* TestClock.adjust(1_000)
  const refusal = yield* Effect.flip(refused(yield* Fiber.join(reading)))
  expect(refusal).toMatchObject({ code: "extraction_unavailable", details: [{ path: bound }] })
  expect(JSON.stringify(refusal)).not.toContain("fewer messages")
})

/** A lane over a thread that the test plays. */
import { expect } from "vitest"
import { SchemaStanding, ValidationLane, type ValidationThread } from "@muniment/schemas/ValidationLane"
import { WorkerFailure } from "@muniment/worker/WorkerThread"
import { Effect } from "effect"
import { it } from "../../support/it.ts"

const request = { schemaTexts: ["{}"], items: [{ schema: 0, data: {} }] }

it.effect(
  "a thread that does not start in time decides nothing: the caller hears it as busy, and the next is served",
  function* () {
    let starts = 0
    const late = new WorkerFailure({ reason: "deadline", detail: "the validation thread did not start in time" })
    const thread: ValidationThread = {
      start: Effect.suspend(() => (++starts === 1 ? Effect.fail(late) : Effect.void)),
      validate: ({ items }) => Effect.succeed({ cpuMillis: 1, outcomes: items.map(({ data }) => ({ ok: true, data })) })
    }
    const lane = new ValidationLane("known", thread, new SchemaStanding(), yield* Effect.scope)
    expect(yield* Effect.flip(lane.validate(request, "tenant"))).toMatchObject({ reason: "starved" })
    expect(yield* lane.validate(request, "tenant")).toEqual([{ ok: true, data: {} }])
  }
)

it.effect.each(["deadline", "memory", "crash", "starved"] as const)(
  "a thread that is lost (%s) is started anew at once, before the next request",
  function* (reason) {
    let starts = 0
    const thread: ValidationThread = {
      start: Effect.sync(() => void (starts += 1)),
      validate: () => Effect.fail(new WorkerFailure({ reason, detail: "lost" }))
    }
    const lane = new ValidationLane("known", thread, new SchemaStanding(), yield* Effect.scope)
    yield* Effect.exit(lane.validate(request, "tenant"))
    yield* Effect.yieldNow
    expect(starts).toBe(2)
  }
)

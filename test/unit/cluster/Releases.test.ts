/** What a node tells the database of namespaces that it has closed; the database is played here. */
import { expect } from "vitest"
import { Deferred, Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { NodeSignals } from "@muniment/cluster/log/NodeSignals"
import { Releases } from "@muniment/cluster/log/Releases"
import { it } from "../../support/it.ts"

// The clock stands still: whoever waits for the next attempt waits for ever.
it.effect("a release that comes while another one is under way is told next", function* () {
  const begun = yield* Deferred.make<void>()
  const answer = yield* Deferred.make<ReadonlyArray<never>>()
  const second = yield* Deferred.make<void>()
  const told: Array<ReadonlyArray<string>> = []
  const statement = (
    _: TemplateStringsArray,
    tags: ReadonlyArray<string>
  ): Effect.Effect<ReadonlyArray<object>, SqlError> =>
    Effect.suspend(() => {
      told.push(tags)
      return told.length === 1
        ? Effect.andThen(Deferred.succeed(begun, undefined), Deferred.await(answer))
        : Effect.as(Deferred.succeed(second, undefined), [])
    })
  const signals: Pick<NodeSignals, "tell"> = { tell: Effect.void }
  const releases = yield* Releases.open("node", statement as SqlClient, signals as NodeSignals)
  releases.tell("first", 1n)
  yield* Deferred.await(begun)
  releases.tell("second", 2n)
  yield* Deferred.succeed(answer, [])
  yield* Deferred.await(second)
  expect(told).toEqual([["first"], ["second"]])
})

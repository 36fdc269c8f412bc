/** Revoked grants: refused at once and after restarts, forgotten when the grant is dead anyway. */
import { describe, expect } from "vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Accounts } from "@muniment/control/accounts/Accounts"
import { ControlDatabase } from "@muniment/control/database/ControlDatabase"
import { GrantRevocations, revocationsPerAccountMax } from "@muniment/control/accounts/GrantRevocations"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"
import { controlLayerOf } from "../ControlLayers.ts"
import { it, itWith } from "../../../support/it.ts"

const fresh = itWith(() => controlLayerOf(temporaryDirectory()))

const nowSeconds = 1_800_000_000
const atTime = (seconds: number) => TestClock.setTime(seconds * 1_000)
const account = Effect.andThen(
  atTime(nowSeconds),
  Accounts.use((accounts) => accounts.create("grantor", { id: "acc_1" }))
)
const rowCount = ControlDatabase.use(({ read, sql }) =>
  Effect.map(read(sql<{ readonly n: number }>`SELECT count(*) AS n FROM grant_revocation`), ([row]) => row?.n)
)

describe("GrantRevocations", () => {
  it.effect("refuses a revoked grant from then on, also after a restart, until the grant expires", function* () {
    const directory = temporaryDirectory()
    const isRevoked = GrantRevocations.use((revocations) =>
      Effect.sync(() => ["a", "b", "c"].map(revocations.isRevoked))
    )
    yield* Effect.gen(function* () {
      yield* account
      const { revoke } = yield* GrantRevocations
      yield* revoke("a", "acc_1", nowSeconds + 1)
      yield* revoke("b", "acc_1", nowSeconds + 10)
      yield* revoke("b", "acc_1", nowSeconds + 10)
      expect(yield* isRevoked).toEqual([true, true, false])
      expect(yield* rowCount).toBe(2)
    }).pipe(Effect.provide(controlLayerOf(directory)))
    yield* isRevoked.pipe(
      Effect.map((known) => expect(known).toEqual([true, true, false])),
      Effect.provide(controlLayerOf(directory))
    )
    yield* atTime(nowSeconds + 1)
    yield* isRevoked.pipe(
      Effect.map((known) => expect(known).toEqual([false, true, false])),
      Effect.provide(controlLayerOf(directory))
    )
  })

  fresh.effect("sweeps those of expired grants, in their very second, and no others", function* () {
    yield* account
    const { isRevoked, revoke, sweep } = yield* GrantRevocations
    yield* revoke("a", "acc_1", nowSeconds + 1)
    yield* revoke("b", "acc_1", nowSeconds + 2)
    expect(yield* sweep).toBe(0)
    yield* atTime(nowSeconds + 1)
    expect(yield* sweep).toBe(1)
    expect([isRevoked("a"), isRevoked("b")]).toEqual([false, true])
    expect(yield* rowCount).toBe(1)
  })

  fresh.effect("keeps nothing of a grant that is expired already", function* () {
    yield* account
    const { revoke } = yield* GrantRevocations
    yield* revoke("a", "acc_1", nowSeconds)
    expect(yield* rowCount).toBe(0)
  })

  it.effect("bounds what one account can have kept, and lets others go on", () =>
    Effect.gen(function* () {
      yield* account
      const { isRevoked, revoke } = yield* GrantRevocations
      yield* Accounts.use((accounts) => accounts.create("other", { id: "acc_2" }))
      yield* ControlDatabase.use(({ sql, write }) =>
        write(sql`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${revocationsPerAccountMax})
          INSERT INTO grant_revocation SELECT 'filler' || i, 'acc_1', 0, ${nowSeconds + 10} FROM n`)
      )
      expect(yield* Effect.flip(revoke("a", "acc_1", nowSeconds + 10))).toMatchObject({ code: "limit_exceeded" })
      expect(isRevoked("a")).toBe(false)
      yield* revoke("b", "acc_2", nowSeconds + 10)
      expect(isRevoked("b")).toBe(true)
    }).pipe(Effect.provide(controlLayerOf(temporaryDirectory())))
  )
})

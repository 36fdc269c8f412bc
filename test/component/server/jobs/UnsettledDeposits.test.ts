/** Memories and payments without an outcome. */
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { PaymentJournal } from "@muniment/control/payments/PaymentJournal"
import { StorageInsurance } from "@muniment/server/jobs/StorageInsurance"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"
import { makeAccount, memory, moment, noon, numbersOf, storageWorld, store } from "./StorageWorld.ts"

it.effect("memories of the free plan are not kept by a payment that is on its way: only what is settled insures", () =>
  TestClock.setTime(noon).pipe(
    Effect.andThen(
      Effect.gen(function* () {
        const [waiting, paying] = [yield* makeAccount("waiting", "free"), yield* makeAccount("paying", "free")]
        const payment = { network: "base-sepolia", payer: "p", units: 100_000, payload: {} } as const
        for (const account of [waiting, paying]) {
          yield* store(account, [memory(1, noon)])
          const journal = yield* PaymentJournal
          yield* journal.claim({ ...payment, id: account.id, account: account.id })
          yield* journal.broadcasting(account.id, { hash: "0x1", raw: "0x2" })
        }
        yield* PaymentJournal.use((journal) => journal.settled(paying.id, "0x1"))
        for (const day of [8, 9]) {
          yield* TestClock.setTime(moment(day))
          yield* StorageInsurance.use((insurance) => insurance.run())
        }
        expect([yield* numbersOf(waiting), yield* numbersOf(paying)]).toEqual([[], [1]])
      }).pipe(Effect.provide(storageWorld(temporaryDirectory())))
    )
  )
)

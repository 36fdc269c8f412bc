/**
 * Webhooks of accounts by a clock of the test's: a receiver that is down for an hour misses nothing, one that stays
 * away gets dead letters that can be repeated, and what stops a webhook stops it.
 */
import { describe, expect } from "vitest"
import { Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import { TestClock } from "effect/testing"
import type { Account } from "@muniment/domain/Account"
import type { Identity } from "@muniment/domain/Identity"
import type { NewHook } from "@muniment/domain/Events"
import { Limits } from "@muniment/domain/Limits"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { Accounts } from "@muniment/control/accounts/Accounts"
import { MoneyEvents } from "@muniment/control/payments/MoneyEvents"
import { PaymentJournal } from "@muniment/control/payments/PaymentJournal"
import { AccountHooks } from "@muniment/control/webhooks/AccountHooks"
import { KeyRing } from "@muniment/trust/KeyRing"
import { AccountEvents } from "@muniment/server/events/AccountEvents"
import { AccountSignals } from "@muniment/server/events/AccountSignals"
import { HookDeliveries } from "@muniment/server/webhooks/HookDeliveries"
import { memoryRecord } from "../../../support/EngineFixtures.ts"
import { isSigned, startWebhookReceiver } from "../../../support/WebhookReceiver.ts"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"
import { makeAccount, memory, namespaceOf, noon, storageWorld, store } from "../jobs/StorageWorld.ts"
import { addHook } from "./HookFixtures.ts"
import { it } from "../../../support/it.ts"

const receiving = Effect.acquireRelease(
  Effect.promise(() => startWebhookReceiver()),
  (receiver) => Effect.promise(() => receiver[Symbol.asyncDispose]())
)

const world = (directory: string) =>
  HookDeliveries.layer("any").pipe(
    Layer.provideMerge(AccountEvents.layer),
    Layer.provideMerge(Layer.mergeAll(AccountHooks.layer, MoneyEvents.layer, KeyRing.layer(directory))),
    Layer.provideMerge(storageWorld(directory)),
    Layer.provideMerge(AccountSignals.layer),
    Layer.provide(SecureRandom.layerWebCrypto)
  )

/** The clock goes on while the network takes its own time. */
const until = <E, R>(isSo: Effect.Effect<boolean, E, R>, step: `${number} ${"seconds" | "minutes"}` = "1 seconds") =>
  Effect.gen(function* () {
    while (!(yield* isSo)) {
      yield* Effect.promise(() => new Promise((wake) => setTimeout(wake, 5)))
      yield* TestClock.adjust(step)
    }
  })

const countsOf = AccountHooks.use((hooks) => hooks.counts)
const write = (account: Account, agentId: string, numbers: ReadonlyArray<number>) =>
  Effect.forEach(numbers, (number) => store(account, [memory(number, noon)], agentId), { discard: true })
const idOf = (number: number) => memoryRecord(number, "").id

describe("webhooks of accounts", () => {
  it.effect("give a receiver that was down for an hour everything, signed, in order by agent", function* () {
    const receiver = yield* receiving
    let isDown = true
    receiver.answer = () => (isDown ? 503 : 204)
    yield* TestClock.setTime(noon)
    yield* Effect.gen(function* () {
      const account = yield* makeAccount("one", "owner")
      yield* write(account, "before", [1])
      yield* addHook(account, { url: receiver.url })
      const [a, b] = [range(2, 14), range(14, 26)]
      for (const at of a.keys()) {
        yield* write(account, "a", [a[at]!])
        yield* write(account, "b", [b[at]!])
        yield* TestClock.adjust("4 minutes")
      }
      const end = noon + 3_600_000
      yield* until(
        Effect.clockWith(({ currentTimeMillis }) => Effect.map(currentTimeMillis, (now) => now >= end)),
        "30 seconds"
      )
      expect(receiver.deliveries.length).toBeGreaterThan(0)
      isDown = false
      const refused = receiver.deliveries.splice(0)
      yield* until(
        Effect.sync(() => receiver.deliveries.length === a.length + b.length),
        "30 seconds"
      )
      const told = (agentId: string) =>
        receiver.deliveries
          .filter(({ body }) => body.data["agentId"] === agentId)
          .map(({ body }) => body.data["memoryId"])
      expect(told("a")).toEqual(a.map(idOf))
      expect(told("b")).toEqual(b.map(idOf))
      expect(told("before")).toEqual([])
      expect(new Set(receiver.deliveries.map(({ headers }) => headers["webhook-id"])).size).toBe(a.length + b.length)
      const signed = yield* Effect.promise(() => Promise.all(receiver.deliveries.map((each) => isSigned(each))))
      expect(new Set(signed)).toEqual(new Set([true]))
      // The head of an agent alone was tried, with the id that it has kept.
      expect(new Set(refused.map(({ headers }) => headers["webhook-id"])).size).toBe(2)
      yield* until(Effect.map(countsOf, ({ pending }) => pending === 0))
      expect(yield* countsOf).toMatchObject({ active: 1, pending: 0, failed: 0 })
    }).pipe(Effect.provide(world(temporaryDirectory())))
  })

  it.effect("are told of the account's money, in order, where no agents are named", function* () {
    const receiver = yield* receiving
    yield* TestClock.setTime(noon)
    yield* Effect.gen(function* () {
      const journal = yield* PaymentJournal
      const events = yield* AccountEvents
      const account = yield* makeAccount("one", "owner")
      const other = yield* makeAccount("two", "owner")
      const settle = Effect.fnUntraced(function* (id: string, { id: owner }: Account) {
        yield* journal.claim({ id, account: owner, network: "base", payer: "0xpayer", units: 500_000, payload: {} })
        yield* journal.settled(id, `hash of ${id}`)
      })
      yield* settle("before", account)
      yield* addHook(account, { url: receiver.url })
      yield* addHook(account, { url: `${receiver.url}/agents`, agents: ["a"] })
      yield* settle("others", other)
      yield* settle("mine", account)
      yield* journal.reversed("mine", "reorganised")
      yield* until(Effect.sync(() => receiver.deliveries.length === 2))
      for (let second = 0; second < 15; second++) yield* TestClock.adjust("1 seconds")
      const data = { payment: "mine", network: "base", amountUsd: 0.5, credits: 500, transaction: "hash of mine" }
      expect(receiver.deliveries.map(({ body, path }) => [path, body.type, body.data])).toEqual([
        ["/hook", "payment.settled", data],
        ["/hook", "payment.reversed", { ...data, reason: "reorganised" }]
      ])
      // The same by GET /v1/events; a key that is bound to agents does not read the books.
      const readBy = Effect.fnUntraced(function* (scope: Identity["scope"], cursor?: string) {
        const query = cursor === undefined ? { from: "oldest" as const } : { cursor }
        const reader = yield* events.open({ account, keyId: undefined, scope }, query)
        return yield* reader.read(9, Effect.fail)
      })
      const all = yield* readBy(undefined)
      expect(all.events.map(({ data: { payment }, type }) => [type, payment])).toEqual([
        ["payment.settled", "before"],
        ["payment.settled", "mine"],
        ["payment.reversed", "mine"]
      ])
      const rest = yield* readBy(undefined, all.events[1]!.id)
      expect(rest).toMatchObject({ events: [{ type: "payment.reversed" }], hasMore: false })
      expect((yield* readBy({ agents: ["a"] })).events).toEqual([])
    }).pipe(Effect.provide(world(temporaryDirectory())))
  })

  it.effect("give up after a day, keep what was given up, and repeat it with the same ids", function* () {
    const receiver = yield* receiving
    receiver.answer = () => 500
    const directory = temporaryDirectory()
    yield* TestClock.setTime(noon)
    const place = yield* Effect.gen(function* () {
      const account = yield* makeAccount("one", "owner")
      const made = { account: account.id, id: yield* addHook(account, { url: receiver.url }) }
      yield* write(account, "a", [1])
      yield* until(Effect.sync(() => receiver.deliveries.length > 0))
      yield* TestClock.adjust("1 minutes")
      return made
    }).pipe(Effect.provide(world(directory)))
    // It polls every second: a day of that is spared by a restart.
    yield* TestClock.setTime(noon + Limits.hookGiveUpMillis - 120_000)
    yield* Effect.gen(function* () {
      const hooks = yield* AccountHooks
      expect(yield* countsOf).toMatchObject({ failed: 0 })
      yield* until(
        Effect.map(countsOf, ({ failed }) => failed === 1),
        "1 minutes"
      )
      const now = yield* Effect.clockWith(({ currentTimeMillis }) => currentTimeMillis)
      expect(now - noon).toBeGreaterThan(Limits.hookGiveUpMillis)
      expect(yield* hooks.get(place)).toMatchObject({ state: "active", reason: "status 500", failed: 1 })
      const [dead] = yield* hooks.deliveries(place, { state: "failed", limit: 9 })
      expect(dead).toMatchObject({ type: "memory.created", agentId: "a", reason: "status 500", nextAt: null })
      receiver.answer = () => 200
      expect(yield* hooks.repeat(place, dead!.id)).toBe(1)
      yield* until(Effect.map(countsOf, ({ failed, pending }) => failed + pending === 0))
      expect(receiver.deliveries.at(-1)?.headers["webhook-id"]).toBe(dead!.id)
      expect(yield* hooks.get(place)).toMatchObject({ reason: null, failed: 0 })
    }).pipe(Effect.provide(world(directory)))
  })

  it.effect("stop while they are paused or their account is suspended, and go on where they were", function* () {
    const receiver = yield* receiving
    yield* TestClock.setTime(noon)
    yield* Effect.gen(function* () {
      const hooks = yield* AccountHooks
      const accounts = yield* Accounts
      const deliveries = yield* HookDeliveries
      const account = yield* makeAccount("one", "owner")
      const other = yield* makeAccount("two", "owner")
      const place = { account: account.id, id: yield* addHook(account, { url: receiver.url }) }
      yield* addHook(other, { url: `${receiver.url}/other` })
      const told = (path: string) => receiver.deliveries.filter((each) => each.path === path).length
      // Events of the other account come while those of the first do not.
      const stops = Effect.fnUntraced(function* (number: number) {
        const before = told("/hook")
        yield* write(account, "a", [number])
        yield* write(other, "a", [number])
        const others = told("/hook/other")
        yield* until(Effect.sync(() => told("/hook/other") > others))
        for (let second = 0; second < 20; second++) yield* TestClock.adjust("1 seconds")
        expect(told("/hook")).toBe(before)
      })
      yield* accounts.suspend(account.id)
      yield* stops(1)
      yield* accounts.resume(account.id)
      yield* until(Effect.sync(() => told("/hook") === 1))
      yield* hooks.change(place, { state: "paused" }, undefined)
      yield* deliveries.changed
      yield* stops(2)
      yield* hooks.change(place, { state: "active" }, undefined)
      yield* until(Effect.sync(() => told("/hook") === 2))
      const ids = receiver.deliveries.filter(({ path }) => path === "/hook").map(({ body }) => body.data["memoryId"])
      expect(ids).toEqual([1, 2].map(idOf))
    }).pipe(Effect.provide(world(temporaryDirectory())))
  })

  it.effect("send the types and agents that were asked for, and never names of subjects or threads", function* () {
    const receiver = yield* receiving
    yield* TestClock.setTime(noon)
    yield* Effect.gen(function* () {
      const host = yield* NamespaceHost
      const account = yield* makeAccount("one", "owner")
      const wanted: Partial<NewHook> = { types: ["memory.deleted"], agents: ["a"] }
      yield* addHook(account, { url: receiver.url, ...wanted })
      for (const agent of ["a", "b"]) {
        yield* store(account, [memory(1, noon, { subjectId: "Ebba", threadId: "secret" })], agent)
        const key = yield* namespaceOf(account, agent)
        yield* host.ask(key, { _tag: "RemoveMemories", ids: [idOf(1)], idempotency: undefined })
      }
      yield* addHook(account, { url: `${receiver.url}/all` })
      yield* store(account, [memory(2, noon, { subjectId: "Ebba", threadId: "secret" })], "b")
      yield* until(Effect.sync(() => receiver.deliveries.length >= 2))
      for (let second = 0; second < 5; second++) yield* TestClock.adjust("1 seconds")
      expect(receiver.deliveries.map(({ body, path }) => [path, body.type, body.data]).toSorted()).toEqual([
        ["/hook", "memory.deleted", { agentId: "a", memoryId: idOf(1), kind: expect.any(String) }],
        ["/hook/all", "memory.created", { agentId: "b", memoryId: idOf(2), kind: expect.any(String) }]
      ])
      expect(receiver.deliveries.map(({ text }) => text).join()).not.toMatch(/Ebba|secret/)
    }).pipe(Effect.provide(world(temporaryDirectory())))
  })
})

const range = (from: number, to: number): ReadonlyArray<number> =>
  Array.from({ length: to - from }, (_, at) => from + at)

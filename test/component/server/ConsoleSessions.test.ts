/** Sessions of the console: how long one is open, and when there are more than the service holds. */
import { expect, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import { TestClock } from "effect/testing"
import { Limits } from "@muniment/domain/Limits"
import { ConsoleSessions, type SessionHolder } from "@muniment/server/console/ConsoleSessions"

const place = { address: "127.0.0.1", browser: "a browser" }
const operator = (name: string): SessionHolder => ({ role: "operator", operator: { name, role: "viewer" } })
const account = (name: string): SessionHolder => ({
  role: "account",
  account: name,
  key: Redacted.make(name),
  readOnly: false,
  isBound: false
})

layer(ConsoleSessions.layer.pipe(Layer.provide(SecureRandom.layerWebCrypto)))(
  "sessions of a crowd of accounts",
  (it) => {
    it.effect("give way themselves, and not those of an account with one or of an operator", () =>
      Effect.gen(function* () {
        const sessions = yield* ConsoleSessions
        const calm = yield* sessions.open(account("calm"), place)
        const looking = yield* sessions.open(operator("alice"), place)
        const crowd = 2 + Limits.consoleSessionsMax / Limits.consoleSessionsPerHolderMax
        for (let of = 0; of < crowd; of += 1) {
          for (let at = 0; at < Limits.consoleSessionsPerHolderMax; at += 1) {
            yield* sessions.open(account(`crowd ${of}`), place)
          }
        }
        expect(yield* sessions.list).toHaveLength(Limits.consoleSessionsMax)
        expect(yield* sessions.find(calm.secret)).toMatchObject({ record: { account: "calm" } })
        expect(yield* sessions.find(looking.secret)).toMatchObject({
          record: { operator: { name: "alice", role: "viewer" } }
        })
      })
    )
  }
)

layer(ConsoleSessions.layer.pipe(Layer.provide(SecureRandom.layerWebCrypto)))("a session", (it) => {
  it.effect("is open until it is ended, or its time is up", () =>
    Effect.gen(function* () {
      const sessions = yield* ConsoleSessions
      const open = Effect.map(sessions.open(operator("alice"), place), ({ session }) => session.record.id)
      const [ended, expiring] = [yield* open, yield* open]
      const areOpen = Effect.forEach([ended, expiring, "ses_unknown"], (id) => sessions.isOpen(id))
      expect(yield* areOpen).toEqual([true, true, false])
      yield* sessions.end(ended)
      expect(yield* areOpen).toEqual([false, true, false])
      yield* TestClock.adjust(Limits.consoleSessionMillis - 1)
      expect(yield* areOpen).toEqual([false, true, false])
      yield* TestClock.adjust(1)
      expect(yield* areOpen).toEqual([false, false, false])
    })
  )

  it.effect("of an operator ends with what else they have open, links too, and no other's", () =>
    Effect.gen(function* () {
      const sessions = yield* ConsoleSessions
      const opened = yield* Effect.forEach(["alice", "alice", "bob"], (name) => sessions.open(operator(name), place))
      const links = yield* Effect.forEach(["alice", "bob"], (name) => sessions.link({ name, role: "viewer" }))
      yield* sessions.endOf("alice")
      const areOpen = yield* Effect.forEach(opened, ({ session }) => sessions.isOpen(session.record.id))
      expect(areOpen).toEqual([false, false, true])
      const redeemed = yield* Effect.forEach(links, ({ token }) => sessions.redeem(token))
      expect(redeemed).toEqual([undefined, { name: "bob", role: "viewer" }])
      const { token } = yield* sessions.link({ name: "bob", role: "viewer" })
      yield* sessions.endLinksOf("bob")
      expect(yield* sessions.redeem(token)).toBeUndefined()
      expect(yield* sessions.isOpen(opened[2]!.session.record.id)).toBe(true)
    })
  )
})

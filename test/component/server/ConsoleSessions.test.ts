/** Sessions of the console: how long one is open, and when there are more than the service holds. */
import { expect, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import { TestClock } from "effect/testing"
import { Limits } from "@muniment/domain/Limits"
import { ConsoleSessions, type SessionHolder } from "@muniment/server/console/ConsoleSessions"

const place = { address: "127.0.0.1", browser: "a browser" }
const account = (name: string): SessionHolder => ({ role: "account", account: name, key: Redacted.make(name) })

layer(ConsoleSessions.layer.pipe(Layer.provide(SecureRandom.layerWebCrypto)))(
  "sessions of a crowd of accounts",
  (it) => {
    it.effect("give way themselves, and not those of an account with one or of the operator", () =>
      Effect.gen(function* () {
        const sessions = yield* ConsoleSessions
        const calm = yield* sessions.open(account("calm"), place)
        const operator = yield* sessions.open({ role: "operator" }, place)
        const crowd = 2 + Limits.consoleSessionsMax / Limits.consoleSessionsPerHolderMax
        for (let of = 0; of < crowd; of += 1) {
          for (let at = 0; at < Limits.consoleSessionsPerHolderMax; at += 1) {
            yield* sessions.open(account(`crowd ${of}`), place)
          }
        }
        expect(yield* sessions.list).toHaveLength(Limits.consoleSessionsMax)
        expect(yield* sessions.find(calm.secret)).toMatchObject({ record: { account: "calm" } })
        expect(yield* sessions.find(operator.secret)).toMatchObject({ record: { role: "operator" } })
      })
    )
  }
)

layer(ConsoleSessions.layer.pipe(Layer.provide(SecureRandom.layerWebCrypto)))("a session", (it) => {
  it.effect("is open until it is ended, or its time is up", () =>
    Effect.gen(function* () {
      const sessions = yield* ConsoleSessions
      const open = Effect.map(sessions.open({ role: "operator" }, place), ({ session }) => session.record.id)
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
})

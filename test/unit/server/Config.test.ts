/** Settings that other code derives from, and defaults on which the safety of an open service rests. */
import { ServerConfig, signUpOf } from "@muniment/server/Config"
import { localOrigin } from "@muniment/server/identity/ClientAddress"
import { Effect, ConfigProvider } from "effect"
import { describe, expect, it } from "vitest"

it.each([
  ["127.0.0.1", "http://127.0.0.1:8787"],
  ["0.0.0.0", "http://127.0.0.1:8787"],
  ["::", "http://127.0.0.1:8787"],
  ["::1", "http://[::1]:8787"],
  ["memory.lan", "http://memory.lan:8787"]
])("a service that listens on %s is reached at %s", (host, origin) => {
  expect(localOrigin(host, 8787)).toBe(origin)
})

const configOf = (env: Record<string, string>) =>
  Effect.runSync(Effect.provideService(ServerConfig, ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env })))

describe("without settings of their own, wallets", () => {
  it.each(["127.0.0.1", "localhost", "::1"])("may open accounts, with the allowance of all, on %s", (host) => {
    const { allowance, mode } = signUpOf(configOf({ MUNIMENT_HOST: host, MUNIMENT_MONTHLY_ALLOWANCE: "5" }))
    expect([mode, allowance]).toEqual(["open", 5_000_000])
  })

  it.each([
    ["0.0.0.0", {}],
    ["192.0.2.1", {}],
    ["127.0.0.1", { MUNIMENT_PUBLIC_URL: "https://memory.example" }]
  ])("may open none, and have no allowance, where it listens on %s with %o", (host, rest) => {
    const { allowance, mode } = signUpOf(configOf({ MUNIMENT_HOST: host, MUNIMENT_MONTHLY_ALLOWANCE: "5", ...rest }))
    expect([mode, allowance]).toEqual(["off", 0])
  })

  it("have no allowance on a public address either where the operator lets them in", () => {
    const open = { MUNIMENT_HOST: "0.0.0.0", MUNIMENT_MONTHLY_ALLOWANCE: "5", MUNIMENT_WALLET_SIGNUP: "open" }
    expect(signUpOf(configOf(open))).toEqual({ mode: "open", allowance: 0 })
  })
})

it("the language model has a finite budget of each account and a finite one of all, if none is set", () => {
  const { tokensPerDay, totalTokensPerDay } = configOf({}).llm
  expect([tokensPerDay, totalTokensPerDay].every((tokens) => Number.isSafeInteger(tokens) && tokens > 0)).toBe(true)
  expect(totalTokensPerDay).toBeGreaterThanOrEqual(tokensPerDay)
})

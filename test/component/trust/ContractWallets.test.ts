/** Contract wallets by a node that counts what it is asked: refusals are kept, budgets hold, halts are refusals. */
import { describe, expect } from "vitest"
import { Context, Effect, Logger, References } from "effect"
import { TestClock } from "effect/testing"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import {
  ContractChecks,
  ContractWallets,
  type ContractWalletVerifier,
  layerRpc,
  refusalMillis,
  refusalsMax
} from "@muniment/trust/ContractWallets"
import { Layer } from "effect"
import { it } from "../../support/it.ts"

const yes = { result: `0x1626ba7e${"0".repeat(56)}` }
const no = { result: `0xffffffff${"0".repeat(56)}` }
const nothing = { result: "0x" }

/** An RPC endpoint whose next answers are `answers`, the last one for ever. */
const node = (...answers: ReadonlyArray<object>) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const asked: Array<string> = []
      const server = createServer((request, response) => {
        request.setEncoding("utf8")
        request.on("data", (body: string) => {
          const { id, params } = JSON.parse(body) as { readonly id: number; readonly params: [{ readonly to: string }] }
          asked.push(params[0].to)
          const answer = answers[Math.min(asked.length, answers.length) - 1]
          response.setHeader("content-type", "application/json")
          response.end(JSON.stringify({ jsonrpc: "2.0", id, ...answer }))
        })
      })
      await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready))
      const { port } = server.address() as AddressInfo
      return { url: `http://127.0.0.1:${port}`, asked, close: () => server.close() }
    }),
    ({ close }) => Effect.sync(close)
  )

const walletsAt = (url: string) =>
  Effect.map(Layer.build(Layer.fresh(layerRpc(url))), (context) => {
    const wallets = Context.get(context, ContractWallets)
    if (wallets === undefined) throw new Error("contract wallets are on")
    return wallets
  })

const addressOf = (n: number): `0x${string}` => `0x${n.toString(16).padStart(40, "0")}`
const ask = (wallets: ContractWalletVerifier, n = 1, signature: `0x${string}` = "0xc0ffee") =>
  wallets.isSignedBy({ address: addressOf(n), message: "m", signature })

describe("a contract's answer", () => {
  it.effect("that is no is kept for half a minute, for this signature alone; a yes is not kept", function* () {
    const { asked, url } = yield* node(no, yes)
    const wallets = yield* walletsAt(url)
    expect([yield* ask(wallets), yield* ask(wallets), asked.length]).toEqual([false, false, 1])
    expect([yield* ask(wallets, 1, "0xbabe"), asked.length]).toEqual([true, 2])
    yield* TestClock.adjust(refusalMillis - 1)
    expect([yield* ask(wallets), asked.length]).toEqual([false, 2])
    yield* TestClock.adjust(1)
    expect([yield* ask(wallets), yield* ask(wallets), asked.length]).toEqual([true, true, 4])
  })

  it.effect("that there is none is kept for the address", function* () {
    const { asked, url } = yield* node(nothing)
    const wallets = yield* walletsAt(url)
    for (const signature of ["0xc0ffee", "0xbabe", "0x00"] as const) {
      expect(yield* ask(wallets, 1, signature)).toBe(false)
    }
    expect(asked).toEqual([addressOf(1)])
    expect([yield* ask(wallets, 2), asked.length]).toEqual([false, 2])
  })

  it.effect("is forgotten, the oldest first, when there are very many", function* () {
    const { asked, url } = yield* node(nothing)
    const wallets = yield* walletsAt(url)
    // As fast as answers come: the bound is about memory.
    yield* Effect.forEach(Array.from({ length: 40 }), (_, at) => ask(wallets, at + 1), { discard: true })
    expect(asked).toHaveLength(40)
    yield* ask(wallets, 1)
    expect(asked).toHaveLength(40)
    expect(refusalsMax).toBeGreaterThan(40)
  })

  it.effect.each([
    ["a revert", { error: { code: 3, message: "execution reverted", data: "0x" } }],
    ["an invalid opcode", { error: { code: -32_000, message: "invalid opcode: INVALID" } }],
    ["a stack underflow", { error: { code: -32_000, message: "stack underflow (0 <=> 2)" } }],
    ["a jump into nowhere", { error: { code: -32_015, message: "VM execution error." } }],
    ["too little gas", { error: { code: -32_000, message: "out of gas" } }],
    ["bytes that are no answer", { result: "0x1626ba7e" }],
    ["very many bytes", { result: `0x${"ff".repeat(100_000)}` }]
  ] as const)("that is %s is a no without a warning", function* ([, answer]) {
    const warned: Array<unknown> = []
    const logger = Logger.make(({ logLevel, message }) => {
      if (logLevel === "Warn" || logLevel === "Error") warned.push(message)
    })
    const { url } = yield* node(answer)
    const wallets = yield* walletsAt(url)
    const isSigned = yield* ask(wallets).pipe(
      Effect.provide(Logger.layer([logger])),
      Effect.provideService(References.MinimumLogLevel, "Debug")
    )
    expect([isSigned, warned]).toEqual([false, []])
  })
})

it.effect("a caller that has used its budget up is refused without a question", function* () {
  const { asked, url } = yield* node(yes)
  const wallets = yield* walletsAt(url)
  const spent = Effect.provideService(ask(wallets), ContractChecks, () => Effect.succeed(false))
  expect([yield* spent, asked.length]).toEqual([false, 0])
  expect([yield* ask(wallets), asked.length]).toEqual([true, 1])
})

/** Which networks are offered: those whose node answers and whose operator can pay the fees. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { createTestClient, http } from "viem"
import { Limits } from "@muniment/domain/Limits"
import type { ChainHealth } from "@muniment/payments/chain/PaymentChain"
import { Payments } from "@muniment/payments/Payments"
import { isEvmChainAvailable } from "../../../../scripts/devchains/AnvilProcess.ts"
import { startEvmChain } from "../../../../scripts/devchains/EvmChain.ts"
import { evmAddresses } from "../../../../scripts/devchains/Wallets.ts"
import { moneyLayerOf } from "../../control/MoneyLayers.ts"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"
import { chainOf } from "../evm/EvmPayments.ts"
import { alice, units } from "./SettlementProcess.ts"
import { away, ScriptedChain } from "../ScriptedChain.ts"

const well: ChainHealth = { feeBalance: 1, isFunded: true, held: 0, block: 1 }

class HealthyChain extends ScriptedChain {
  onHealth: () => typeof away | Effect.Effect<ChainHealth> = () => Effect.succeed(well)
  readonly health = Effect.suspend(() => this.onHealth())
}

const paymentsOn = (...chains: ReadonlyArray<ScriptedChain>) =>
  Payments.layerOf({ chains: new Map(chains.map((chain) => [chain.network, chain])), confirmations: 1 }).pipe(
    Layer.provide(moneyLayerOf(temporaryDirectory()))
  )

const offered = Payments.use((payments) =>
  Effect.map(payments.quote({ units: 100_000, resource: "r", description: "d" }), (all) =>
    all.map(({ network }) => network)
  )
)

describe("A network", () => {
  it.effect("is not offered while the operator cannot pay its fees, the others are", () => {
    const [evm, svm] = [new HealthyChain(), new HealthyChain("solana-devnet")]
    return Effect.gen(function* () {
      yield* TestClock.adjust(1)
      expect(yield* offered).toEqual(["base-sepolia", "solana-devnet"])
      evm.onHealth = () => Effect.succeed({ ...well, feeBalance: 0, isFunded: false })
      yield* TestClock.adjust(Limits.networkWatchMillis)
      expect(yield* offered).toEqual(["solana-devnet"])
      expect(yield* Payments.use(({ statuses }) => statuses)).toMatchObject([
        { network: "base-sepolia", isOffered: false, isReachable: true, health: { feeBalance: 0 } },
        { network: "solana-devnet", isOffered: true }
      ])
      evm.onHealth = () => Effect.succeed(well)
      yield* TestClock.adjust(Limits.networkRetryMillis)
      expect(yield* offered).toEqual(["base-sepolia", "solana-devnet"])
    }).pipe(Effect.provide(paymentsOn(evm, svm)))
  })

  it.effect("is still offered while its node is away for a moment, and not when it stays away", () => {
    const chain = new HealthyChain()
    return Effect.gen(function* () {
      yield* TestClock.adjust(1)
      chain.onHealth = () => away
      yield* TestClock.adjust(Limits.networkWatchMillis)
      expect(yield* Payments.use(({ statuses }) => statuses)).toMatchObject([{ isReachable: false, isOffered: true }])
      yield* TestClock.adjust(Limits.networkAwayMillis)
      expect(yield* offered).toEqual([])
      chain.onHealth = () => Effect.succeed(well)
      yield* TestClock.adjust(Limits.networkRetryMillis)
      expect(yield* offered).toEqual(["base-sepolia"])
    }).pipe(Effect.provide(paymentsOn(chain)))
  })
})

it.effect("A network says what its nodes do not do, since when and why, until they do", () => {
  const chain = new HealthyChain()
  const problems = Payments.use(({ statuses }) => Effect.map(statuses, ([network]) => network?.problems))
  return Effect.gen(function* () {
    const send = chain.onBroadcast
    chain.onBroadcast = () => away
    const { id: account } = alice
    const wire = { version: 1, network: chain.network, payload: { nonce: "one" } } as const
    const asked = yield* Effect.forkChild(Payments.use(({ pay }) => pay({ account, units, wire })))
    yield* TestClock.adjust("2 seconds")
    expect(yield* problems).toEqual([{ question: "broadcast", cause: "the node is away", since: 0 }])
    chain.onBroadcast = send
    yield* TestClock.adjust("2 seconds")
    expect(yield* problems).toEqual([])
    expect(yield* Fiber.join(asked)).toMatchObject({ _tag: "Settled" })
  }).pipe(Effect.provide(paymentsOn(chain)))
})

describe("A problem that no payment meets again", () => {
  const problems = Payments.use(({ statuses }) => Effect.map(statuses, ([network]) => network?.problems))
  const payOn = (chain: ScriptedChain) =>
    Payments.use(({ pay }) => pay({ account: alice.id, units, wire: chain.payment("one") }))

  it.effect("ends with the nodes' health, once as long a time has passed as waiting payments need to ask", () => {
    const chain = new HealthyChain()
    return Effect.gen(function* () {
      chain.onVerify = () => away
      expect(yield* Effect.flip(payOn(chain))).toMatchObject({ _tag: "ChainUnavailable" })
      chain.onVerify = () => Effect.void
      chain.onHealth = () => away
      yield* TestClock.adjust(3 * Limits.networkWatchMillis)
      expect(yield* problems).toEqual([{ question: "verify", cause: "the node is away", since: 0 }])
      chain.onHealth = () => Effect.succeed(well)
      yield* TestClock.adjust(Limits.networkRetryMillis)
      expect(yield* problems).toEqual([])
    }).pipe(Effect.provide(paymentsOn(chain)))
  })

  it.effect("stays while a payment that waits meets it, and where a transaction was refused", () => {
    const chain = new HealthyChain()
    return Effect.gen(function* () {
      chain.onBroadcast = () => away
      chain.onLook = () => away
      const asked = yield* Effect.forkChild(payOn(chain))
      yield* TestClock.adjust(5 * Limits.networkWatchMillis)
      expect(yield* Fiber.join(asked)).toMatchObject({ _tag: "Pending" })
      expect(yield* problems).toMatchObject([{ question: "broadcast" }, { question: "look" }])
    }).pipe(Effect.provide(paymentsOn(chain)))
  })
})

describe.skipIf(!isEvmChainAvailable())("the health of a real EVM chain", () => {
  it("is the operator's ether and the payee's USDC", async () => {
    const local = await startEvmChain()
    const health = () => Effect.runPromise(chainOf(local).health ?? Effect.die("no health"))
    await local.mint(evmAddresses.payTo, 5_000_000n)
    expect(await health()).toMatchObject({ isFunded: true, held: 5_000_000, feeBalance: expect.any(Number) })
    const client = createTestClient({ mode: "anvil", transport: http(local.rpcUrl) })
    await client.setBalance({ address: evmAddresses.operator, value: 1_000n })
    expect(await health()).toMatchObject({ isFunded: false, held: 5_000_000 })
    await local.stop()
  })
})

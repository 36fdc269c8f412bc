/** Payments as the server has them: configured, misconfigured, and not at all. */
import { describe, expect } from "vitest"
import { Context, Effect, Layer, Redacted, Schedule } from "effect"
import { Payments } from "@muniment/payments/Payments"
import type { PaymentsConfig } from "@muniment/payments/PaymentNetworks"
import { evmAddresses, evmKeys, solanaSeeds, solanaWallet } from "../../../scripts/devchains/Wallets.ts"
import { moneyLayerOf } from "../control/MoneyLayers.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"
import { alice, units } from "./settlement/SettlementProcess.ts"
import { ScriptedChain } from "./ScriptedChain.ts"
import { startFacilitator } from "./facilitator/ScriptedFacilitator.ts"
import { it } from "../../support/it.ts"

const operator = await solanaWallet(solanaSeeds.operator)
const payTo = await solanaWallet(solanaSeeds.payTo)
/** Nobody listens there. */
const rpcUrl = "http://127.0.0.1:9"

const config: PaymentsConfig = {
  networks: ["base-sepolia", "solana-devnet"],
  evm: { payTo: evmAddresses.payTo, operatorKey: Redacted.make(evmKeys.operator), rpcUrl },
  solana: { payTo: payTo.address, operatorKey: Redacted.make(operator.keyText), rpcUrl },
  confirmations: 1
}
const request = { units, resource: "https://memory.example.com/v1/credits/deposit", description: "a deposit" }

const build = (options: PaymentsConfig) =>
  Effect.map(Layer.build(Payments.layer(options).pipe(Layer.provide(moneyLayerOf(temporaryDirectory())))), (context) =>
    Context.get(context, Payments)
  )

describe("Payments that are configured", () => {
  it.effect("quote every network without asking any", function* () {
    const payments = yield* build(config)
    expect(payments.isConfigured).toBe(true)
    expect(payments.networks).toEqual(["base-sepolia", "solana-devnet"])
    expect(yield* payments.quote(request)).toMatchObject([
      { network: "base-sepolia", maxAmountRequired: "100000", payTo: evmAddresses.payTo },
      { network: "solana-devnet", payTo: payTo.address, extra: { feePayer: operator.address } }
    ])
    expect(yield* payments.reconcile).toBe(0)
  })

  it.live("offer Solana through a facilitator as soon as it says who pays the fees", function* () {
    const facilitator = yield* startFacilitator
    const kind = { x402Version: 2, scheme: "exact", network: "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1" }
    facilitator.answers.set("/supported", {
      status: 200,
      body: { kinds: [{ ...kind, extra: { feePayer: operator.address } }], extensions: [], signers: {} }
    })
    const payments = yield* build({
      networks: config.networks,
      evm: { payTo: evmAddresses.payTo },
      solana: { payTo: payTo.address },
      facilitatorUrl: facilitator.url,
      confirmations: 1
    })
    const offered = Effect.map(payments.quote(request), (all) => all.map(({ network }) => network))
    expect(yield* offered).toEqual(["base-sepolia"])
    yield* offered.pipe(
      Effect.filterOrFail(({ length }) => length === 2),
      Effect.retry(Schedule.max([Schedule.spaced("10 millis"), Schedule.recurs(500)]))
    )
    expect((yield* payments.quote(request))[1]?.extra).toEqual({ feePayer: operator.address })
  })
})

describe("Payments that are misconfigured stop the start by the name of the variable", () => {
  const { evm, solana } = config
  const mistakes: ReadonlyArray<readonly [string, Partial<PaymentsConfig>, string]> = [
    ["an unknown network", { networks: ["base", "doge"] }, "MUNIMENT_PAYMENT_NETWORKS"],
    ["two networks of one family", { networks: ["base", "base-sepolia"] }, "MUNIMENT_PAYMENT_NETWORKS"],
    ["no confirmations", { confirmations: 0 }, "MUNIMENT_PAYMENT_CONFIRMATIONS"],
    ["a part of a confirmation", { confirmations: 1.5 }, "MUNIMENT_PAYMENT_CONFIRMATIONS"],
    ["no receiver on EVM", { evm: { ...evm, payTo: undefined } }, "MUNIMENT_EVM_PAY_TO"],
    ["a receiver that is no address", { evm: { ...evm, payTo: "0x12" } }, "MUNIMENT_EVM_PAY_TO"],
    [
      "a receiver with a mistyped letter",
      { evm: { ...evm, payTo: evmAddresses.payTo.replace("C", "c") } },
      "MUNIMENT_EVM_PAY_TO"
    ],
    ["no EVM key", { evm: { ...evm, operatorKey: undefined } }, "MUNIMENT_EVM_OPERATOR_KEY"],
    [
      "an EVM key that is none",
      { evm: { ...evm, operatorKey: Redacted.make("hunter2") } },
      "MUNIMENT_EVM_OPERATOR_KEY"
    ],
    ["no EVM node", { evm: { ...evm, rpcUrl: undefined } }, "MUNIMENT_EVM_RPC_URL"],
    ["an EVM node that is no URL", { evm: { ...evm, rpcUrl: "ftp://node" } }, "MUNIMENT_EVM_RPC_URL"],
    ["no receiver on Solana", { solana: { ...solana, payTo: undefined } }, "MUNIMENT_SOLANA_PAY_TO"],
    ["a Solana receiver of EVM", { solana: { ...solana, payTo: evmAddresses.payTo } }, "MUNIMENT_SOLANA_PAY_TO"],
    ["no Solana key", { solana: { ...solana, operatorKey: undefined } }, "MUNIMENT_SOLANA_OPERATOR_KEY"],
    [
      "a Solana key that is none",
      { solana: { ...solana, operatorKey: Redacted.make("hunter2") } },
      "MUNIMENT_SOLANA_OPERATOR_KEY"
    ],
    ["no Solana node", { solana: { ...solana, rpcUrl: undefined } }, "MUNIMENT_SOLANA_RPC_URL"],
    ["a second EVM node that is no URL", { evm: { ...evm, rpcUrl: `${rpcUrl},ftp://node` } }, "MUNIMENT_EVM_RPC_URL"],
    ["a Solana node that is no URL", { solana: { ...solana, rpcUrl: "node" } }, "MUNIMENT_SOLANA_RPC_URL"],
    ["a facilitator that is no URL", { facilitatorUrl: "facilitator" }, "MUNIMENT_FACILITATOR_URL"],
    ["no receiver for a facilitator", { facilitatorUrl: rpcUrl, evm: {} }, "MUNIMENT_EVM_PAY_TO"]
  ]
  for (const [what, mistake, variable] of mistakes) {
    it.effect(`with ${what}`, function* () {
      const { message } = yield* Effect.flip(Effect.scoped(build({ ...config, ...mistake })))
      expect(message.startsWith(variable)).toBe(true)
      expect(message).not.toContain("hunter2")
    })
  }
})

it.effect("Payments that are not configured offer nothing and take nothing", () =>
  Effect.gen(function* () {
    const payments = yield* Payments
    expect([payments.isConfigured, payments.networks, yield* payments.quote(request)]).toEqual([false, [], []])
    const wire = new ScriptedChain().payment("one")
    expect(yield* Effect.flip(payments.pay({ account: alice.id, units, wire }))).toMatchObject({
      _tag: "PaymentInvalid"
    })
    expect(yield* payments.reconcile).toBe(0)
  }).pipe(Effect.provide(Payments.layerNone.pipe(Layer.provide(moneyLayerOf(temporaryDirectory())))))
)

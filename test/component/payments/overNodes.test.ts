/** A chain over several nodes: who is asked, and what one node alone cannot decide. */
import { describe, expect } from "vitest"
import { Effect } from "effect"
import { type ChainView, ChainUnavailable, PaymentInvalid } from "@muniment/payments/chain/PaymentChain"
import { overNodes } from "@muniment/payments/chain/overNodes"
import { isEvmChainAvailable } from "../../../scripts/devchains/AnvilProcess.ts"
import { startEvmChain } from "../../../scripts/devchains/EvmChain.ts"
import { chainOf } from "./evm/EvmPayments.ts"
import { ScriptedChain } from "./ScriptedChain.ts"
import { it } from "../../support/it.ts"

const away = Effect.fail(new ChainUnavailable({ network: "base-sepolia", cause: "away" }))
const never: ChainView = { _tag: "Never", block: 7n }
const waits: ChainView = { _tag: "Unpaid", next: "wait" }
const paid = (isFinal: boolean): ChainView => ({ _tag: "Paid", hash: "0x1", confirmations: 3, isFinal })

const nodes = () => {
  const [one, other] = [new ScriptedChain(), new ScriptedChain()]
  const chain = overNodes([
    { name: "one", chain: one },
    { name: "other", chain: other }
  ])
  const look = Effect.flatMap(chain.claim({ nonce: "n" }), (claim) => chain.look(claim, { hash: "0x1", raw: "0x" }, 1))
  const verify = Effect.flatMap(chain.claim({ nonce: "n" }), (claim) => chain.verify(claim, 1))
  return { one, other, look, verify }
}

describe("a chain over two nodes", () => {
  it.effect("asks the next where one is away, and stays with the one that answered", function* () {
    const { one, other, verify } = nodes()
    one.onVerify = () => away
    yield* verify
    one.onVerify = () => Effect.void
    yield* verify
    expect([one.calls.length, other.calls.length]).toEqual([1, 2])
    other.onVerify = () => away
    yield* verify
    expect([one.calls.length, other.calls.length]).toEqual([2, 3])
  })

  it.effect("is unavailable only when all are, and passes a refusal on without asking another", function* () {
    const { one, other, verify } = nodes()
    one.onVerify = () => Effect.fail(new PaymentInvalid({ reason: "no" }))
    expect(yield* Effect.flip(verify)).toMatchObject({ _tag: "PaymentInvalid" })
    expect(other.calls).toEqual([])
    one.onVerify = () => away
    other.onVerify = () => away
    expect(yield* Effect.flip(verify)).toMatchObject({ _tag: "ChainUnavailable" })
  })

  const cases: ReadonlyArray<readonly [string, ChainView, ChainView | undefined, ChainView]> = [
    ["never, if both say so", never, never, never],
    ["open, if one says never and the other waits", never, waits, waits],
    ["open, if one says never and the other is away", never, undefined, waits],
    ["paid and not final, if one says never and the other has the money", never, paid(true), paid(false)],
    ["final, if both say so", paid(true), paid(true), paid(true)],
    ["paid and not final, if one alone says final", paid(true), paid(false), paid(false)],
    ["paid and not final, if the other is away", paid(true), undefined, paid(false)],
    ["paid by one look, if it is not final", paid(false), undefined, paid(false)]
  ]
  for (const [what, first, second, expected] of cases) {
    it.effect(`calls a payment ${what}`, function* () {
      const { look, one, other } = nodes()
      one.onLook = () => Effect.succeed(first)
      other.onLook = () => (second === undefined ? away : Effect.succeed(second))
      expect(yield* look).toEqual(expected)
    })
  }
})

describe.skipIf(!isEvmChainAvailable())("real nodes of one network", () => {
  it("are asked the best first: one that is behind, or of another chain, only where no other answers", async () => {
    const [good, late, foreign] = await Promise.all([
      startEvmChain(),
      startEvmChain(),
      startEvmChain({ network: "base" })
    ])
    await good.mine(100)
    const asBaseSepolia = { ...foreign, network: "base-sepolia" as const }
    const chain = overNodes([
      { name: "foreign", chain: chainOf(asBaseSepolia) },
      { name: "late", chain: chainOf(late) },
      { name: "good", chain: chainOf(good) }
    ])
    const look = () => Effect.runPromise(chain.health ?? Effect.die("no health"))
    const statuses = () => chain.nodes?.() ?? []
    const { block } = await look()
    expect(statuses()).toMatchObject([
      { name: "foreign", isReachable: false, failures: 1, block: undefined },
      { name: "late", isReachable: true, isBehind: true, failures: 0 },
      { name: "good", isReachable: true, isBehind: false, blocksBehind: 0, block }
    ])
    expect(statuses()[1]?.blocksBehind).toBeGreaterThanOrEqual(100)
    await good.stop()
    expect((await look()).block).toBeLessThan(block)
    expect(statuses()[2]).toMatchObject({ isReachable: false, failures: 1, block })
    await Promise.all([late.stop(), foreign.stop()])
    await expect(look()).rejects.toMatchObject({ _tag: "ChainUnavailable" })
  })
})

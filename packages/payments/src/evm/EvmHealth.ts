/** Check that an EVM network can take payments now: its node answers, and the operator can pay the gas. */
import { Effect } from "effect"
import { type Address, formatEther } from "viem"
import type { ChainHealth } from "../chain/PaymentChain.ts"
import type { EvmRpc } from "./EvmRpc.ts"
import { feePerGasWeiMax } from "./EvmSettle.ts"
import { gasMax } from "./EvmVerify.ts"

/** `operator`: undefined where a facilitator sends. */
export const evmHealth = Effect.fn("EvmHealth")(function* (
  rpc: EvmRpc,
  { operator, payTo }: { readonly payTo: Address; readonly operator: Address | undefined }
) {
  const held = Number(yield* rpc.balanceOf(payTo))
  const { baseFeePerGas, number } = yield* rpc.ask("eth_getBlockByNumber", (node) =>
    node.getBlock({ blockTag: "latest" })
  )
  const seen = { held, block: Number(number) }
  if (operator === undefined) return { ...seen, feeBalance: undefined, isFunded: true } satisfies ChainHealth
  const balance = yield* rpc.ask("eth_getBalance", (node) => node.getBalance({ address: operator }))
  // As a payment is signed: the base fee may double.
  const generous = 2n * (baseFeePerGas ?? 0n) + tipWei
  const price = generous < feePerGasWeiMax ? generous : feePerGasWeiMax
  return {
    ...seen,
    feeBalance: Number(formatEther(balance)),
    isFunded: balance >= gasMax * price
  } satisfies ChainHealth
})

/** A tip with which a payment is included soon on Base. */
const tipWei = 1_000_000n

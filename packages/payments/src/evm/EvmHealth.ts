/** Whether an EVM network can take payments now: its node answers, and the operator can pay the gas. */
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
  if (operator === undefined) return { feeBalance: undefined, isFunded: true, held } satisfies ChainHealth
  const [balance, { baseFeePerGas }] = yield* Effect.all([
    rpc.ask("eth_getBalance", (node) => node.getBalance({ address: operator })),
    rpc.ask("eth_getBlockByNumber", (node) => node.getBlock({ blockTag: "latest" }))
  ])
  // As a payment is signed: the base fee may double.
  const generous = 2n * (baseFeePerGas ?? 0n) + tipWei
  const price = generous < feePerGasWeiMax ? generous : feePerGasWeiMax
  return { feeBalance: Number(formatEther(balance)), isFunded: balance >= gasMax * price, held } satisfies ChainHealth
})

/** A tip with which a payment is included soon on Base. */
const tipWei = 1_000_000n

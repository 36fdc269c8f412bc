/** Check that a Solana network can take payments now: its node answers, and the operator can pay the fees. */
import { Effect } from "effect"
import type { Address } from "@solana/kit"
import type { ChainHealth } from "../chain/PaymentChain.ts"
import type { SvmRpc } from "./SvmRpc.ts"
import { priorityFeeLamportsMax, signersMax } from "./SvmRules.ts"

/** Lamports of one signature. */
const signatureLamports = 5_000
/** What an account must keep to exist (rent exemption of an empty one). */
const leastLamports = 890_880
const lamportsPerSol = 1_000_000_000

/** `operator`: undefined where a facilitator sends. `payee`: its token account. */
export const svmHealth = Effect.fn("SvmHealth")(function* (
  rpc: SvmRpc,
  operator: Address | undefined,
  payee: Effect.Effect<Address>
) {
  const holding = yield* payee
  const config = { commitment: "confirmed" } as const
  const { context, value: accounts } = yield* rpc.ask("getMultipleAccounts", (node, options) =>
    node.getMultipleAccounts([holding], { ...config, encoding: "base64" }).send(options)
  )
  const held =
    accounts[0] === null || accounts[0] === undefined
      ? 0
      : Number(
          (yield* rpc.ask("getTokenAccountBalance", (node, options) =>
            node.getTokenAccountBalance(holding, config).send(options)
          )).value.amount
        )
  const seen = { held, block: Number(context.slot) }
  if (operator === undefined) return { ...seen, feeBalance: undefined, isFunded: true } satisfies ChainHealth
  const { value: lamports } = yield* rpc.ask("getBalance", (node, options) =>
    node.getBalance(operator, config).send(options)
  )
  const needed = leastLamports + signersMax * signatureLamports + priorityFeeLamportsMax
  return {
    ...seen,
    feeBalance: Number(lamports) / lamportsPerSol,
    isFunded: Number(lamports) >= needed
  } satisfies ChainHealth
})

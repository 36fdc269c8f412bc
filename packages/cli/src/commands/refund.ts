/**
 * `muniment refund`: sends USDC of a payment back to its payer, on its chain. The wallet that holds the money signs here;
 * the service never sees its key. One payment has one refund: a repeat goes on with the first one.
 */
import { Console, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { RefundOffer, RefundRecord } from "@muniment/domain/Operations"
import { CommandFailed } from "../CommandFailed.ts"
import { readWalletKey } from "../KeyFile.ts"
import { orderText, paymentOrder } from "../PaymentOrder.ts"
import { signPayment } from "../PaymentSigning.ts"
import { shownText, table } from "../ShownText.ts"
import { flags } from "./flags.ts"
import { withOperator } from "./operator.ts"

export const refund = Command.make(
  "refund",
  {
    payment: Argument.String("payment").pipe(Argument.withDescription("Id of the payment, of payments list --json")),
    keyFile: Flag.optional(flags.keyFile),
    dryRun: Flag.Boolean("dry-run").pipe(
      Flag.withDescription("Sign and send nothing; show what would be refunded"),
      Flag.withDefault(false)
    ),
    solanaRpc: Flag.String("solana-rpc").pipe(
      Flag.withDescription("RPC of a Solana node; the network's public one by default"),
      Flag.optional
    ),
    json: flags.json
  },
  Effect.fn("refund")(function* ({ dryRun, json, keyFile, payment, solanaRpc }) {
    const { success: _, ...offer } = yield* withOperator(({ money }) => money.refundOffer({ query: { payment } }))
    if (dryRun || offer.refund !== null) {
      return yield* Console.log(json ? JSON.stringify(offer) : offerText(offer))
    }
    if (Option.isNone(keyFile)) {
      return yield* new CommandFailed({ reason: "Give --key-file with the key of the wallet that holds the money." })
    }
    const key = yield* readWalletKey(keyFile.value)
    const order = yield* orderOf(offer)
    yield* Console.error(orderText(order, { payer: key.signer.wallet.address, credited: "nobody: it is a refund" }))
    const { value } = yield* signPayment(key, order, { solanaRpcUrl: Option.getOrUndefined(solanaRpc) })
    const payload = { payment, authorization: value }
    const sent = yield* withOperator(({ money }) => money.refund({ payload }))
    yield* Console.log(json ? JSON.stringify(sent.refund) : refundText(sent.refund))
    if (sent.refund.state === "failed") return yield* new CommandFailed({ reason: "Nothing was refunded." })
  })
).pipe(
  Command.withDescription("Send USDC of a payment back to its payer; only what is final and not spent"),
  Command.withExamples([
    { command: "muniment refund evm:8453:0x8335... --dry-run", description: "How much, and to whom" },
    { command: "muniment refund evm:8453:0x8335... --key-file payee.key", description: "Signed by the payee's wallet" }
  ])
)

const orderOf = ({ payment, requirement }: RefundOffer) => {
  const accepts = requirement === null ? [] : [requirement]
  const terms = { network: payment.network, unitsMax: Math.round(payment.amountUsd * 1_000_000) }
  return Effect.mapError(Effect.fromResult(paymentOrder({ accepts }, terms)), (reason) => new CommandFailed({ reason }))
}

const offerText = ({ payment, refund: known, requirement }: RefundOffer): string =>
  known === null
    ? `${Number(requirement?.maxAmountRequired ?? 0) / 1_000_000} of ${payment.amountUsd} USD would go back to ${shownText(payment.payer)} on ${payment.network}.`
    : refundText(known)

const refundText = ({ amountUsd, from, reason, state, transaction }: RefundRecord): string =>
  table([
    ["refund", `${amountUsd} USD from ${shownText(from)}`],
    ["state", state === "verified" || state === "broadcasting" ? `${state}: the service goes on by itself` : state],
    ["transaction", transaction ?? "-"],
    ...(reason === null ? [] : [["reason", shownText(reason)]])
  ])

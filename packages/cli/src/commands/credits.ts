/**
 * An account's own credits, by its API key or its wallet: `muniment credits` shows them, `muniment deposit` pays the
 * service in USDC.
 */
import { Console, Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import type { Answer, Deposited } from "@muniment/client/Contract"
import type { Muniment } from "@muniment/client/Muniment"
import { MunimentError } from "@muniment/client/MunimentError"
import type { Payment, PaymentDemand } from "@muniment/client/Payment"
import { Limits } from "@muniment/domain/Limits"
import { depositUnits, PaymentNetwork } from "@muniment/domain/Payment"
import { commandFailed, CommandFailed } from "../CommandFailed.ts"
import { readWalletKey } from "../InputFile.ts"
import { orderText, paymentOrder, signPayment } from "../PaymentOrder.ts"
import { serviceUrl } from "../ServiceUrl.ts"
import { agreement, shownText, table, timeText } from "../Terminal.ts"
import { ask, callerHere, callerOf } from "./clients.ts"
import { callerFlags, flags } from "./flags.ts"

const transactionsShown = 20

export const credits = Command.make(
  "credits",
  {
    ...callerFlags,
    transactions: Flag.Boolean("transactions").pipe(
      Flag.withDescription("Also list the latest transactions"),
      Flag.withDefault(false)
    ),
    limit: Flag.Int("limit").pipe(
      Flag.withDescription(`How many transactions, 1 to ${Limits.transactionsPageMax}`),
      Flag.withDefault(transactionsShown)
    ),
    json: flags.json
  },
  Effect.fn("credits")(function* ({ apiKey, keyFile, url, transactions: isListed, limit, json }) {
    const muniment = yield* callerHere({ apiKey, keyFile, url })
    const account = yield* ask((signal) => muniment.credits({ signal }))
    const page = isListed ? yield* ask((signal) => muniment.transactions({ limit }, { signal })) : undefined
    if (json) return yield* Console.log(JSON.stringify({ ...account, ...page }))
    return yield* Console.log(
      [accountText(account), ...(page === undefined ? [] : ["", transactionsText(page)])].join("\n")
    )
  })
).pipe(
  Command.withDescription("Balance, monthly allowance, plan, and how long the balance keeps free-plan memories"),
  Command.withExamples([
    { command: "muniment credits --key-file alice.key --transactions", description: "Of the wallet's own account" }
  ])
)

const accountText = ({ allowance, balance, insuredUntil, plan, purgeNotice }: Answer<"credits">): string =>
  table([
    ["balance", `${balance.credits} credits (${balance.usd} USD)`],
    [
      "allowance",
      allowance.credits === null
        ? "without bound: calls are recorded, and not charged"
        : `${allowance.credits} of ${allowance.monthly} credits, renewed ${timeText(allowance.renewsAt)} UTC`
    ],
    ["plan", plan],
    ...(insuredUntil === undefined ? [] : [["insured", `until ${timeText(insuredUntil)} UTC, if nothing changes`]]),
    ...(purgeNotice === undefined
      ? []
      : [["purge", `${purgeNotice.memories} memories from ${timeText(purgeNotice.from)} UTC on, unless you deposit`]])
  ])

const transactionsText = ({ transactions, nextCursor }: Answer<"transactions">): string => {
  if (transactions.length === 0) return "No transactions."
  const rows = transactions.map(({ at, kind, operation, purse, credits: moved }) => [
    timeText(at),
    moved > 0 ? `+${moved}` : String(moved),
    purse,
    kind,
    shownText(operation ?? "")
  ])
  const more = nextCursor === undefined ? [] : ["There are older transactions; --limit shows more."]
  return [table([["AT", "CREDITS", "PURSE", "KIND", "OPERATION"], ...rows]), ...more].join("\n")
}

/**
 * `muniment deposit`: pays the service in USDC with a key from a file. The user sees what the service asks for and
 * agrees before anything is signed. One run signs once: while the outcome is unknown the same payment is sent again.
 */
export const deposit = Command.make(
  "deposit",
  {
    amount: Flag.Finite("amount").pipe(
      Flag.withDescription("US dollars, 0.10 to 1000, at most two decimals; never more is paid")
    ),
    network: Flag.Literals("network", PaymentNetwork.literals).pipe(
      Flag.withDescription("Network that holds the USDC")
    ),
    keyFile: flags.keyFile,
    url: flags.url,
    apiKey: flags.apiKey,
    solanaRpc: Flag.String("solana-rpc").pipe(
      Flag.withDescription("RPC of a Solana node; the network's public one by default"),
      Flag.optional
    ),
    yes: Flag.Boolean("yes").pipe(
      Flag.withAlias("y"),
      Flag.withDescription("Pay without asking"),
      Flag.withDefault(false)
    ),
    json: flags.json
  },
  Effect.fn("deposit")(function* ({ amount, network, keyFile, url, apiKey, solanaRpc, yes, json }) {
    const unitsMax = depositUnits(amount)
    if (unitsMax === undefined)
      return yield* new CommandFailed({ reason: `--amount is ${amountRange}, not ${amount}.` })
    const key = yield* readWalletKey(keyFile)
    const isOwnAccount = Option.isNone(apiKey)
    const muniment = yield* callerOf(yield* serviceUrl(url), isOwnAccount ? { key } : { apiKey: apiKey.value })
    const order = yield* Effect.mapError(
      Effect.fromResult(paymentOrder(yield* demandFor(muniment, amount), { network, unitsMax })),
      (reason) => new CommandFailed({ reason })
    )
    const credited = isOwnAccount ? "the account of this wallet" : "the account of the API key"
    yield* Console.error(orderText(order, { payer: key.signer.wallet.address, credited }))
    if (!yes) yield* agreement("Pay?", "Nothing was paid")
    const payment = yield* signPayment(key, order, { solanaRpcUrl: Option.getOrUndefined(solanaRpc) })
    yield* Console.error("Signed. Sent to the service, which waits for the chain…")
    const answer = yield* pay(muniment, amount, payment)
    return yield* Console.log(json ? JSON.stringify(answer) : receiptText(answer))
  })
).pipe(
  Command.withDescription(
    "Buy credits with USDC: 1,000 for a dollar. Shows what would be paid, and asks, before it signs"
  ),
  Command.withExamples([
    {
      command: "muniment deposit --amount 0.5 --network base-sepolia --key-file devchains/evm-payer.json",
      description: "Half a dollar for the wallet's own account"
    }
  ])
)

const amountRange = `${(Limits.depositCentsMin / 100).toFixed(2)} to ${Limits.depositCentsMax / 100} US dollars with at most two decimals`

/** Demand of the service, as its answer to a deposit without payment has it. */
const demandFor = (muniment: Muniment, amountUsd: number): Effect.Effect<PaymentDemand, CommandFailed> =>
  Effect.tryPromise((signal) => muniment.deposit(amountUsd, { signal })).pipe(
    Effect.matchEffect({
      onSuccess: () =>
        Effect.fail(
          new CommandFailed({ reason: "The service credited a deposit without a payment; nothing was signed." })
        ),
      onFailure: ({ cause }) =>
        cause instanceof MunimentError && cause.paymentRequired !== undefined
          ? Effect.succeed(cause.paymentRequired)
          : Effect.fail(commandFailed(cause))
    })
  )

const pay = (muniment: Muniment, amountUsd: number, payment: Payment) =>
  Effect.tryPromise({
    try: (signal) => muniment.deposit(amountUsd, { payment, signal }),
    catch: (cause) => new CommandFailed({ reason: `${shownText(commandFailed(cause).reason)}${advice(cause)}` })
  })

/** The statuses with which the service says for sure that this payment credits nothing more. */
const finalStatuses = new Set([400, 401, 402, 409])

const advice = (cause: unknown): string =>
  cause instanceof MunimentError && finalStatuses.has(cause.status)
    ? ""
    : "\nThe signed payment may still be carried out, and is credited then. Look with `muniment credits --transactions` before you pay again."

const receiptText = ({ balance, deposit: { amount_usd, credits }, receipt, replayed }: Deposited): string =>
  table([
    ["deposit", `${credits} credits for ${amount_usd.toFixed(2)} USD${replayed === true ? ", credited before" : ""}`],
    ["balance", `${balance.credits} credits (${balance.usd} USD)`],
    ...(receipt === undefined
      ? []
      : [["transaction", `${shownText(receipt.transaction)} on ${shownText(receipt.network)}`]])
  ])

/** `muniment credits`: balance and transactions of an account, by its API key or its wallet. */
import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import type { Answer } from "@muniment/client/Contract"
import { Limits } from "@muniment/domain/Limits"
import { shownText, table, timeText } from "../ShownText.ts"
import { ask, callerHere } from "./caller.ts"
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

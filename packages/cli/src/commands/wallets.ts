/** `muniment wallets`: which wallets open which account, as the operator decides. */
import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { flags } from "./flags.ts"
import { withOperator } from "./operator.ts"

const link = Command.make(
  "link",
  {
    account: flags.account,
    address: Flag.String("address").pipe(Flag.withDescription("EVM or Solana address of the wallet")),
    json: flags.json
  },
  Effect.fn("wallets.link")(function* ({ account, address, json }) {
    const payload = { account, address }
    const { wallet } = yield* withOperator((operator) => operator.linkWallet({ payload }))
    return yield* Console.log(
      json ? JSON.stringify({ wallet }) : `Wallet ${wallet.address} opens the account ${wallet.account} from now on.`
    )
  })
).pipe(
  Command.withDescription("Let a wallet open an account; only while it has none of its own"),
  Command.withExamples([
    { command: "muniment wallets link --account alice --address 0x...", description: "Alice may sign instead of a key" }
  ])
)

export const wallets = Command.make("wallets").pipe(
  Command.withDescription("Wallets and the accounts they open"),
  Command.withSubcommands([link])
)

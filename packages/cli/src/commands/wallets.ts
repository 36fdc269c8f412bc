/** `muniment wallets`: which wallets open which account; `muniment wallet`: makes a wallet for trials. */
import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { flags } from "./flags.ts"
import { withOperator } from "./operator.ts"
import { createKeyFile } from "../KeyFile.ts"
import { pathFlag } from "../InputFile.ts"

const link = Command.make(
  "link",
  {
    account: flags.account,
    address: Flag.String("address").pipe(Flag.withDescription("EVM or Solana address of the wallet")),
    json: flags.json
  },
  Effect.fn("wallets.link")(function* ({ account, address, json }) {
    const payload = { account, address }
    const { wallet } = yield* withOperator(({ admin }) => admin.linkWallet({ payload }))
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

const create = Command.make(
  "new",
  {
    out: pathFlag("out", "New file for the key, mode 600").pipe(Flag.withAlias("o")),
    json: flags.json
  },
  Effect.fn("wallet.new")(function* ({ out, json }) {
    const { address, family } = yield* createKeyFile(out)
    if (json) return yield* Console.log(JSON.stringify({ wallet: { address, family } }))
    yield* Console.log(address)
    return yield* Console.error(`The key of this wallet is in ${out}; everyone who has the file can act as the wallet.`)
  })
).pipe(
  Command.withDescription("Make an EVM wallet: its key goes to a file, its address is printed"),
  Command.withExamples([{ command: "muniment wallet new --out alice.key", description: "A wallet to try with" }])
)

/** `muniment wallet`: makes a wallet for trials. Its key is never printed, only its address. */
export const wallet = Command.make("wallet").pipe(
  Command.withDescription("A wallet's key on this machine"),
  Command.withSubcommands([create])
)

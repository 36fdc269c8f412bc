/** `muniment wallet`: makes a wallet for trials. Its key is never printed, only its address. */
import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { createKeyFile } from "../KeyFile.ts"
import { pathFlag } from "../PathFlag.ts"
import { flags } from "./flags.ts"

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

export const wallet = Command.make("wallet").pipe(
  Command.withDescription("A wallet's key on this machine"),
  Command.withSubcommands([create])
)

/**
 * `npm run devchains`: both payment chains on this machine, funded wallets, and the commands that start the service
 * and pay it. The chains live in memory: each start is a new chain. All keys are public: use them nowhere else.
 */
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { type EvmChain, startEvmChain } from "./devchains/EvmChain.ts"
import { type SolanaChain, startSolanaChain } from "./devchains/SolanaChain.ts"
import { evmAddresses, evmKeys, solanaSeeds, solanaWallet } from "./devchains/Wallets.ts"

const usage = `Usage: npm run devchains [-- OPTIONS]

Starts an EVM chain (as Base Sepolia) and a Solana chain (as devnet) on this machine, with USDC on both.

  --evm-port PORT     default 8545; 0 for a free one
  --solana-port PORT  default 8899; 0 for a free one
  --dir DIR           where the key files of the two paying wallets go; default devchains
  --help`

const startUnits = 1_000_000_000n
const operatorLamports = 10_000_000_000n
const ownerOnly = 0o600
const portMax = 65_535

interface Options {
  readonly evmPort: number
  readonly solanaPort: number
  readonly dir: string
}

const main = async (): Promise<void> => {
  const options = readOptions(process.argv.slice(2))
  if (options === undefined) return void process.stdout.write(`${usage}\n`)
  const solana = await startSolanaChain({ port: options.solanaPort })
  const evm = await startEvmChain({ port: options.evmPort })
  const stopped = new Promise<void>((resolve) => {
    process.once("SIGINT", () => resolve())
    process.once("SIGTERM", () => resolve())
  })
  try {
    await fund(evm, solana)
    const lines = await report(evm, solana, await writeKeyFiles(options.dir))
    process.stdout.write(`${lines.join("\n")}\n`)
    await stopped
  } finally {
    await Promise.all([evm.stop(), solana.stop()])
  }
}

/** Undefined if help is asked for. Throws on invalid `args`. */
const readOptions = (args: ReadonlyArray<string>): Options | undefined => {
  const { values } = parseArgs({
    args: [...args],
    options: {
      "evm-port": { type: "string", default: "8545" },
      "solana-port": { type: "string", default: "8899" },
      dir: { type: "string", default: "devchains" },
      help: { type: "boolean", default: false }
    }
  })
  if (values.help) return undefined
  return {
    evmPort: portOf("--evm-port", values["evm-port"]),
    solanaPort: portOf("--solana-port", values["solana-port"]),
    dir: values.dir
  }
}

const portOf = (option: string, text: string): number => {
  const port = Number(text)
  if (!/^\d+$/.test(text) || port > portMax) throw new Error(`${option} is 0 to ${portMax}, not "${text}"`)
  return port
}

/** The payers get USDC, the Solana operator gets lamports for fees; anvil funds the EVM operator itself. */
const fund = async (evm: EvmChain, solana: SolanaChain): Promise<void> => {
  const [operator, payer, payTo] = await Promise.all([
    solanaWallet(solanaSeeds.operator),
    solanaWallet(solanaSeeds.payer),
    solanaWallet(solanaSeeds.payTo)
  ])
  await evm.mint(evmAddresses.payer, startUnits)
  solana.airdrop(operator.address, operatorLamports)
  await solana.setTokenBalance(payer.address, startUnits)
  // The recipient's token account must exist before a payment.
  await solana.setTokenBalance(payTo.address, 0n)
}

interface KeyFiles {
  readonly evm: string
  readonly solana: string
}

const writeKeyFiles = async (dir: string): Promise<KeyFiles> => {
  const { keyBytes } = await solanaWallet(solanaSeeds.payer)
  mkdirSync(dir, { recursive: true })
  const files = { evm: join(dir, "evm-payer.json"), solana: join(dir, "solana-payer.json") }
  writeKeyFile(files.evm, `${evmKeys.payer}\n`)
  writeKeyFile(files.solana, `${JSON.stringify([...keyBytes])}\n`)
  return files
}

/** Never overwrites another key. */
const writeKeyFile = (path: string, text: string): void => {
  if (!existsSync(path)) writeFileSync(path, text, { flag: "wx", mode: ownerOnly })
  else if (readFileSync(path, "utf8") !== text) throw new Error(`${path} is there and holds something else`)
  chmodSync(path, ownerOnly)
}

const report = async (evm: EvmChain, solana: SolanaChain, files: KeyFiles): Promise<ReadonlyArray<string>> => {
  const [operator, payer, payTo] = await Promise.all([
    solanaWallet(solanaSeeds.operator),
    solanaWallet(solanaSeeds.payer),
    solanaWallet(solanaSeeds.payTo)
  ])
  const deposit = (file: string, network: string): string =>
    `npm run muniment -- deposit --key-file ${file} --amount 0.5 --network ${network}`
  return [
    "Two payment chains, in memory. All keys are public knowledge: never send real money to these wallets.",
    "",
    ...table([
      ["", evm.network, solana.network],
      ["RPC", evm.rpcUrl, solana.rpcUrl],
      ["USDC", evm.usdc.address, solana.usdc],
      ["payer", evmAddresses.payer, payer.address],
      ["  has", usd(await evm.balanceOf(evmAddresses.payer)), usd((await solana.tokenBalance(payer.address)) ?? 0n)],
      ["  key", files.evm, files.solana],
      ["operator", evmAddresses.operator, operator.address],
      ["pay to", evmAddresses.payTo, payTo.address]
    ]),
    "",
    "Start the service in another terminal with",
    "",
    `  export MUNIMENT_PAYMENT_NETWORKS=${evm.network},${solana.network}`,
    `  export MUNIMENT_EVM_RPC_URL=${evm.rpcUrl}`,
    `  export MUNIMENT_EVM_PAY_TO=${evmAddresses.payTo}`,
    `  export MUNIMENT_EVM_OPERATOR_KEY=${evmKeys.operator}`,
    `  export MUNIMENT_SOLANA_RPC_URL=${solana.rpcUrl}`,
    `  export MUNIMENT_SOLANA_PAY_TO=${payTo.address}`,
    `  export MUNIMENT_SOLANA_OPERATOR_KEY=${operator.keyText}`,
    "  npm start",
    "",
    "and pay it from a third with",
    "",
    `  ${deposit(files.evm, evm.network)}`,
    `  ${deposit(files.solana, solana.network)} --solana-rpc ${solana.rpcUrl}`,
    "",
    "Ctrl-C stops both chains."
  ]
}

const usd = (units: bigint): string => `${(Number(units) / 1_000_000).toFixed(2)} USDC`

const table = (rows: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<string> => {
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows.map((row) => `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ")}`.trimEnd())
}

try {
  await main()
  process.exit(0)
} catch (cause) {
  process.stderr.write(`${cause instanceof Error ? cause.message : String(cause)}\nSee npm run devchains -- --help\n`)
  process.exit(1)
}

import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { walletSignerOf } from "@muniment/trust/WalletSigner"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { isEvmChainAvailable } from "../../../scripts/devchains/AnvilProcess.ts"
import { evmAddresses, solanaSeeds, solanaWallet } from "../../../scripts/devchains/Wallets.ts"

const program = resolve(import.meta.dirname, "../../../scripts/devchains.ts")
const reason = isEvmChainAvailable() ? "" : " (skipped: anvil has no package for this platform)"
const goneMillisMax = 150_000
const lastLine = "Ctrl-C stops both chains."

let dir: string
let running: ChildProcess | undefined

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "muniment-devchains-"))
})

afterEach(() => {
  running?.kill("SIGKILL")
  running = undefined
  rmSync(dir, { recursive: true })
})

const run = (args: ReadonlyArray<string>) => {
  const child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "pipe", "pipe"] })
  running = child
  const ended = once(child, "close").then(([code]): unknown => code)
  let output = ""
  const ready = new Promise<string>((done) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk: Buffer) => {
        output += chunk.toString("utf8")
        if (output.includes(lastLine)) done(output)
      })
    }
  })
  return { child, ready, ended, output: () => output }
}

const start = async () => {
  const started = run(["--evm-port", "0", "--solana-port", "0", "--dir", dir])
  const output = await started.ready
  const valueOf = (name: string): string => new RegExp(`export ${name}=(\\S+)`).exec(output)?.[1] ?? ""
  return { ...started, valueOf }
}

const chainIdAt = async (url: string): Promise<unknown> => {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_chainId", params: [] })
  const answer = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body })
  return answer.json()
}

const endsBy = async (signal: NodeJS.Signals, child: ChildProcess, ended: Promise<unknown>, evmUrl: string) => {
  child.kill(signal)
  expect(await ended).toBe(0)
  await expect(chainIdAt(evmUrl)).rejects.toThrow("fetch failed")
}

describe.skipIf(!isEvmChainAvailable())(`npm run devchains${reason}`, () => {
  it("starts both chains, prints how to start and pay the service, and ends well on SIGTERM", async () => {
    const { child, ended, ready, valueOf } = await start()
    expect(valueOf("MUNIMENT_PAYMENT_NETWORKS")).toBe("base-sepolia,solana-devnet")
    expect(valueOf("MUNIMENT_EVM_PAY_TO")).toBe(evmAddresses.payTo)
    expect(valueOf("MUNIMENT_SOLANA_PAY_TO")).toBe((await solanaWallet(solanaSeeds.payTo)).address)
    const operators = [valueOf("MUNIMENT_EVM_OPERATOR_KEY"), valueOf("MUNIMENT_SOLANA_OPERATOR_KEY")].map(
      walletSignerOf
    )
    expect(operators.map(({ wallet }) => wallet.address)).toEqual([
      evmAddresses.operator.toLowerCase(),
      (await solanaWallet(solanaSeeds.operator)).address
    ])
    expect(await chainIdAt(valueOf("MUNIMENT_EVM_RPC_URL"))).toMatchObject({ result: "0x14a34" })
    expect(await ready).toContain(
      `npm run muniment -- deposit --key-file ${join(dir, "evm-payer.json")} --amount 0.5 --network base-sepolia\n`
    )
    expect(await ready).toContain(
      `npm run muniment -- deposit --key-file ${join(dir, "solana-payer.json")} --amount 0.5 --network solana-devnet ` +
        `--solana-rpc ${valueOf("MUNIMENT_SOLANA_RPC_URL")}\n`
    )
    // The payers' keys are for their owner alone, in texts that the command line reads.
    const files = ["evm-payer.json", "solana-payer.json"].map((name) => join(dir, name))
    expect(files.map((path) => statSync(path).mode & 0o777)).toEqual([0o600, 0o600])
    const wallets = files.map((path) => walletSignerOf(readFileSync(path, "utf8")).wallet.address)
    expect(wallets).toEqual([evmAddresses.payer.toLowerCase(), (await solanaWallet(solanaSeeds.payer)).address])
    await endsBy("SIGTERM", child, ended, valueOf("MUNIMENT_EVM_RPC_URL"))
  })

  it("leaves a key alone that is not its own", async () => {
    const path = join(dir, "evm-payer.json")
    writeFileSync(path, "a key of value\n")
    const { ended, output } = run(["--evm-port", "0", "--solana-port", "0", "--dir", dir])
    expect(await ended).toBe(1)
    expect(output()).toContain("holds something else")
    expect(readFileSync(path, "utf8")).toBe("a key of value\n")
  })

  it("stops both chains on SIGINT and ends well", async () => {
    const { child, ended, valueOf } = await start()
    await endsBy("SIGINT", child, ended, valueOf("MUNIMENT_EVM_RPC_URL"))
  })

  it("leaves no chain behind when it is killed", async () => {
    const { child, ended, valueOf } = await start()
    child.kill("SIGKILL")
    await ended
    const isGone = () =>
      chainIdAt(valueOf("MUNIMENT_EVM_RPC_URL")).then(
        () => false,
        () => true
      )
    await expect.poll(isGone, { timeout: goneMillisMax }).toBe(true)
  })

  it("refuses what it does not know", async () => {
    const { ended, output } = run(["--port", "1"])
    expect(await ended).toBe(1)
    expect(output()).toContain("Unknown option '--port'")
  })

  it("answers --help", async () => {
    const { ended, output } = run(["--help"])
    expect(await ended).toBe(0)
    expect(output()).toContain("Usage: npm run devchains")
  })
})

/**
 * Contract wallets that take a signature when they are asked and burn all gas in the block: each of their payments
 * costs the operator a transaction and brings nothing. On a local chain with Circle's USDC.
 */
import { ExactEvmScheme } from "@x402/evm"
import { wrapFetchWithPayment, x402Client } from "@x402/fetch"
import { Limits } from "@muniment/domain/Limits"
import { paymentNetworks } from "@muniment/domain/Payment"
import { gasMax } from "@muniment/payments/evm/EvmSettle"
import { randomBytes } from "node:crypto"
import { type Address, createPublicClient, createTestClient, type Hex, http, toHex } from "viem"
import { privateKeyToAccount } from "viem/accounts"
import { isEvmChainAvailable } from "../../../scripts/devchains/AnvilProcess.ts"
import { type EvmChain, startEvmChain } from "../../../scripts/devchains/EvmChain.ts"
import { evmAddresses, evmKeys } from "../../../scripts/devchains/Wallets.ts"
import { type Attack, atMost, countsOf, type Field, type Finding, type OwnService } from "../Field.ts"
import { pause } from "../Load.ts"
import { type Reply, requestBytes, Wire } from "../Wire.ts"

const network = "base-sepolia"
const path = "/v1/credits/deposit?amount_usd=0.1"
const units = 100_000
/** More than an account may have under way, so that the account's budget decides and not a wallet's. */
const wallets = 40
const senders = Limits.paymentsPerAccountMax
/** A sender that was never told to stop gives up. */
const paymentsPerSenderMax = 8
const paymentsAfter = 10
const honestDeposits = 3
/** With one payment whose outcome is not known yet. */
const timesAskedMax = 10
const lifetimeSeconds = 300
/** Says yes (ERC-1271) to a call, which has no gas price, and loops in a transaction until the gas is gone. */
const burnsInBlock: Hex =
  "0x3a602b577f1626ba7e000000000000000000000000000000000000000000000000000000005f5260205ff35b602b56"
/** Those under way count once a revert is written down: until then an account has as many as it may have at once. */
const transactionsMax = Math.max(Limits.revertsPerAccountDay, Limits.paymentsPerAccountMax)

/** Addresses of contracts that hold USDC. */
const deployWallets = async (chain: EvmChain): Promise<ReadonlyArray<Address>> => {
  const client = createTestClient({ mode: "anvil", transport: http(chain.rpcUrl, { retryCount: 0 }) })
  const addresses = Array.from({ length: wallets }, () => toHex(randomBytes(20)))
  for (const address of addresses) {
    await client.setCode({ address, bytecode: burnsInBlock })
    await chain.mint(address, BigInt(units * paymentsPerSenderMax))
  }
  return addresses
}

const paymentBytes = ({ target }: Field, key: string, from: Address): Buffer => {
  const nowSeconds = Math.floor(Date.now() / 1_000)
  const authorization = {
    from,
    to: evmAddresses.payTo,
    value: String(units),
    validAfter: String(nowSeconds - 600),
    validBefore: String(nowSeconds + lifetimeSeconds),
    nonce: toHex(randomBytes(32))
  }
  // Any bytes will do for the contract; the library wants a recovery id (27 or 28) at the end of 65 bytes.
  const signature = `${toHex(randomBytes(64))}1b`
  const payload = { signature, authorization }
  const payment = { x402Version: 1, scheme: "exact", network, payload }
  const header = Buffer.from(JSON.stringify(payment)).toString("base64")
  return requestBytes(target, "POST", path, { key, headers: { "x-payment": header, "content-length": "0" } })
}

/** Each sender goes on until it is told to stop. */
const grief = async (field: Field, key: string, from: ReadonlyArray<Address>): Promise<ReadonlyArray<Reply>> => {
  const wire = new Wire(field.target, senders)
  const replies: Array<Reply> = []
  let wallet = 0
  const next = () => paymentBytes(field, key, from[wallet++ % from.length]!)
  const send = async (): Promise<void> => {
    for (let payment = 0; payment < paymentsPerSenderMax; payment++) {
      const reply = await wire.send(next())
      replies.push(reply)
      if (reply.status === 429) return
    }
  }
  await Promise.all(Array.from({ length: senders }, send))
  wire.close()
  return replies
}

interface Deposits {
  readonly statuses: ReadonlyArray<number>
  /** Answers 202: the chain had not answered in `Limits.settlementWaitMillis`. */
  readonly pending: number
}

/**
 * Deposits of a plain wallet by the stock client, one after the other. What is answered 202 is asked again with the same
 * payment, as the contract says (Payments, outcome unknown).
 */
const payWell = async ({ target: { host, port } }: Field, key: string, payer: Hex): Promise<Deposits> => {
  let pending = 0
  const untilKnown: typeof fetch = async (input, init) => {
    for (let asked = 1; ; asked++) {
      const response = await fetch(input instanceof Request ? input.clone() : input, init)
      if (response.status !== 202 || asked === timesAskedMax) return response
      pending += 1
      await pause(Number(response.headers.get("retry-after")) * 1_000)
    }
  }
  const scheme = new ExactEvmScheme(privateKeyToAccount(payer))
  const client = x402Client.fromConfig({
    schemes: [{ network: paymentNetworks[network].caip2, client: scheme }],
    spendControls: false
  })
  const pay = wrapFetchWithPayment(untilKnown, client)
  const statuses: Array<number> = []
  for (let deposit = 0; deposit < honestDeposits; deposit++) {
    const headers = { authorization: `Bearer ${key}` }
    const { status } = await pay(`http://${host}:${port}${path}`, { method: "POST", headers })
    statuses.push(status)
  }
  return { statuses, pending }
}

/** What the operator's reverted transactions have used. */
const burnt = async ({ rpcUrl }: EvmChain): Promise<{ readonly transactions: number; readonly gas: number }> => {
  const client = createPublicClient({ transport: http(rpcUrl, { retryCount: 0 }), cacheTime: 0 })
  const operator = evmAddresses.operator.toLowerCase()
  let [transactions, gas] = [0, 0]
  const newest = await client.getBlockNumber()
  for (let blockNumber = 0n; blockNumber <= newest; blockNumber++) {
    const block = await client.getBlock({ blockNumber, includeTransactions: true })
    for (const { from, hash } of block.transactions) {
      if (from.toLowerCase() !== operator) continue
      const { gasUsed, status } = await client.getTransactionReceipt({ hash })
      if (status !== "reverted") continue
      transactions += 1
      gas += Number(gasUsed)
    }
  }
  return { transactions, gas }
}

const onChain = async (chain: EvmChain, own: OwnService): Promise<Finding> => {
  const hostile = await deployWallets(chain)
  const payer = toHex(randomBytes(32))
  await chain.mint(privateKeyToAccount(payer).address, BigInt(2 * honestDeposits * units))
  const environment = {
    MUNIMENT_PAYMENT_NETWORKS: network,
    MUNIMENT_EVM_PAY_TO: evmAddresses.payTo,
    MUNIMENT_EVM_RPC_URL: chain.rpcUrl,
    MUNIMENT_EVM_OPERATOR_KEY: evmKeys.operator,
    MUNIMENT_EMBEDDING_MODEL: "none"
  }
  return own.withAnother(environment, async (field) => {
    const { attackerKey, victimKey } = field
    const [replies, during] = await Promise.all([grief(field, attackerKey, hostile), payWell(field, victimKey, payer)])
    const wire = new Wire(field.target, 1)
    const later: Array<Reply> = []
    for (const from of hostile.slice(0, paymentsAfter))
      later.push(await wire.send(paymentBytes(field, attackerKey, from)))
    wire.close()
    const afterwards = await payWell(field, victimKey, payer)
    const deposits = [...during.statuses, ...afterwards.statuses]
    const pending = during.pending + afterwards.pending
    const { gas, transactions } = await burnt(chain)
    const taken = later.filter(({ hasRetryAfter, status }) => status !== 429 || !hasRetryAfter)
    const unserved = deposits.filter((status) => status !== 200)
    return {
      said: `${countsOf(replies.map(({ status }) => status))}; then ${countsOf(later.map(({ status }) => status))}; deposits ${countsOf(deposits)}, after ${pending} x 202`,
      goals: [
        {
          name: "gas griefing: transactions that the attack burnt",
          bound: "at least",
          wanted: 1,
          found: transactions,
          unit: "",
          note: "or nothing was attacked"
        },
        atMost("gas griefing: transactions burnt", transactionsMax, transactions, "", `of ${replies.length} payments`),
        atMost("gas griefing: gas burnt", transactionsMax * Number(gasMax), gas, "gas"),
        atMost("gas griefing: payments after the budget not refused by 429", 0, taken.length, `of ${later.length}`),
        atMost("gas griefing: deposits of another account not served", 0, unserved.length, `of ${deposits.length}`)
      ]
    }
  })
}

export const gasGriefing: Attack = {
  name: "gas",
  title: `${wallets} contract wallets whose payments pass each check and burn the operator's gas`,
  run: async ({ own }) => {
    if (own === undefined) return undefined
    if (!isEvmChainAvailable()) return { said: "this platform has no local chain", goals: [] }
    const chain = await startEvmChain({ network })
    try {
      return await onChain(chain, own)
    } finally {
      await chain.stop()
    }
  }
}

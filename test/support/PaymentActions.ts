/**
 * Actions on payments, one for each thing that can happen: clients that pay, repeat, or bring what is another's; nodes
 * that fail; chains that stand still or are reorganised; a server that dies. Requests are sent and not waited for, so
 * that actions run into each other.
 */
import { createSolanaRpc, type Signature } from "@solana/kit"
import { createTestClient, type Hex, http, parseAbi, walletActions } from "viem"
import { baseSepolia } from "viem/chains"
import type { FaultKind } from "../../scripts/devchains/FaultyRpc.ts"
import { evmAddresses } from "../../scripts/devchains/Wallets.ts"
import { decodeHeader, depositor, type Payer, type PaymentRow, paymentsOf } from "./PaymentCalls.ts"
import { type PaymentChains, sendMethods, type TestNetwork, testNetworks } from "./PaymentChains.ts"
import type { MortalServer } from "./PaymentKills.ts"
import type { SeededRandom } from "./SeededRandom.ts"
import type { Answer } from "./TestServer.ts"

export interface AccountName {
  readonly name: string
  readonly secret: string
}

/** What outlives one interleaving. */
export interface PaymentWorld {
  readonly chains: PaymentChains
  readonly mortal: MortalServer
  readonly accounts: ReadonlyArray<AccountName>
  readonly payers: Readonly<Record<TestNetwork, ReadonlyArray<Payer>>>
  /** Networks that the server takes payments on at the moment. */
  served: ReadonlyArray<TestNetwork>
  /** No two payments of a world have the same amount: it names them. */
  lastCents: number
}

/** One signed payment and what its bearers were told. */
export interface Played {
  readonly network: TestNetwork
  readonly account: AccountName
  readonly cents: number
  readonly headers: Readonly<Record<string, string>>
  /** Its blockhash has run out, or the operator whom it names is gone: it may fail with nobody to blame. */
  isExpired: boolean
  /** Answers to deposits of the right amount, to whichever account. */
  readonly told: Array<{
    readonly account: string
    readonly status: number
    readonly body: Answer["body"]
    /** Milliseconds. */
    readonly at: number
  }>
}

/** One interleaving under way. */
export interface Play {
  readonly world: PaymentWorld
  readonly random: SeededRandom
  readonly payments: Array<Played>
  readonly underWay: Set<Promise<unknown>>
  /** What was done, in order, to be read when something is wrong. */
  readonly trace: Array<string>
  readonly problems: Array<string>
}

export type Action = (play: Play) => Promise<void>

/** How often each is drawn, in relation to the others. */
export const actions: ReadonlyArray<{ readonly weight: number; readonly name: string; readonly act: Action }> = [
  { weight: 30, name: "pay", act: (play) => pay(play) },
  { weight: 12, name: "repeat", act: (play) => repeat(play) },
  { weight: 5, name: "another's", act: (play) => bringAnothers(play) },
  { weight: 4, name: "wrong amount", act: (play) => misprice(play) },
  { weight: 14, name: "fault", act: (play) => failCalls(play) },
  { weight: 5, name: "node away", act: (play) => nodeAway(play) },
  { weight: 8, name: "nodes back", act: (play) => nodesBack(play) },
  { weight: 6, name: "kill", act: (play) => kill(play) },
  { weight: 5, name: "rotation", act: (play) => rotate(play) },
  { weight: 3, name: "other networks", act: (play) => serveOthers(play) },
  { weight: 10, name: "reorganisation", act: (play) => reorganise(play) },
  { weight: 4, name: "front-run", act: (play) => frontRun(play) },
  { weight: 5, name: "no blocks", act: (play) => holdBlocks(play) },
  { weight: 6, name: "blocks", act: (play) => giveBlocks(play) },
  { weight: 1, name: "expiry", act: (play) => expire(play) },
  { weight: 6, name: "reconcile", act: (play) => reconcileNow(play) },
  { weight: 12, name: "pause", act: (play) => pause(play) }
]

const duplicatesMax = 6
const pauseMillisMax = 200

export const send = (play: Play, payment: Played, account: AccountName): Promise<void> => {
  const server = play.world.mortal.now()
  const sent = depositor(server, account.name, account.secret)
    .deposit(payment.cents / 100, payment.headers)
    .then(
      ({ body, status }) => void payment.told.push({ account: account.name, status, body, at: Date.now() }),
      // Cut off by a kill: nothing was told.
      () => undefined
    )
  play.underWay.add(sent)
  return sent.finally(() => play.underWay.delete(sent))
}

const pay: Action = async (play) => {
  const { random, world } = play
  const network = pick(random, world.served)
  const account = pick(random, world.accounts)
  const payer = pick(random, world.payers[network])
  const cents = ++world.lastCents
  // Two payments of the first version on Solana can be one and the same.
  const version = network === "solana-devnet" ? 2 : random.between(1, 2) === 1 ? 1 : 2
  const asking = depositor(world.mortal.now(), account.name, account.secret).sign(payer, cents / 100, version)
  // While deposits wait for a chain the service may be full: who was not asked for a payment signs none.
  const headers = await asking.catch((cause: unknown) => void play.trace.push(`not asked: ${String(cause)}`))
  if (headers === undefined) return
  const payment: Played = { network, account, cents, headers, isExpired: false, told: [] }
  play.payments.push(payment)
  play.trace.push(`${cents} cents on ${network} by ${account.name}`)
  void send(play, payment, account)
}

const repeat: Action = async (play) => {
  const payment = play.random.pick(play.payments)
  if (payment === undefined) return
  const times = play.random.between(1, duplicatesMax)
  play.trace.push(`${payment.cents} again, ${times} times`)
  for (let time = 0; time < times; time++) void send(play, payment, payment.account)
}

const bringAnothers: Action = async (play) => {
  const payment = play.random.pick(play.payments)
  const account = play.random.pick(play.world.accounts)
  if (payment === undefined || account === undefined) return
  play.trace.push(`${payment.cents} by ${account.name}`)
  void send(play, payment, account)
}

const mispricedUsd = 999

const misprice: Action = async (play) => {
  const { problems, random, underWay, world } = play
  const payment = random.pick(play.payments)
  if (payment === undefined) return
  const { name, secret } = payment.account
  const sent = depositor(world.mortal.now(), name, secret)
    .deposit(mispricedUsd, payment.headers)
    .then(
      ({ body, status }) => {
        if (status === 200) problems.push(`${payment.cents} cents were taken for more: ${JSON.stringify(body)}`)
      },
      () => undefined
    )
  underWay.add(sent)
  void sent.finally(() => underWay.delete(sent))
}

const faultKinds: ReadonlyArray<FaultKind> = ["refuse", "drop-response", "http-500"]
const faultTimesMax = 4
/** A call that hangs costs its caller seconds. */
const hangsShare = 0.08
const callsOf: Readonly<Record<TestNetwork, ReadonlyArray<string>>> = {
  "base-sepolia": [
    sendMethods["base-sepolia"],
    "eth_getTransactionReceipt",
    "eth_getTransactionByHash",
    "eth_getTransactionCount",
    "eth_getBlockByNumber",
    "eth_estimateGas",
    "eth_getLogs",
    "eth_call"
  ],
  "solana-devnet": [
    sendMethods["solana-devnet"],
    "getSignatureStatuses",
    "simulateTransaction",
    "isBlockhashValid",
    "getTransaction",
    "getEpochInfo"
  ]
}

const failCalls: Action = async ({ random, trace, world }) => {
  const network = pick(random, testNetworks)
  // What matters most is what becomes of the sending.
  const method = random.next() < 0.4 ? sendMethods[network] : pick(random, callsOf[network])
  const isHang = random.next() < hangsShare
  const kind = isHang ? "hang" : pick(random, faultKinds)
  const times = isHang ? 1 : random.between(1, faultTimesMax)
  trace.push(`${method}: ${kind}, ${times} times`)
  world.chains.rpc[network].failNext(method, kind, times)
}

const nodeAway: Action = async ({ random, world }) => world.chains.rpc[pick(random, testNetworks)].down()

export const nodesBack: Action = async ({ world }) => {
  for (const network of testNetworks) world.chains.rpc[network].up()
}

export const kill: Action = async ({ underWay, world }) => {
  await world.mortal.kill()
  await Promise.all(underWay)
  await world.mortal.start()
}

/** Other payees and operators, by a restart. What names the old ones and was not claimed yet is refused. */
const rotate: Action = async (play) => {
  const { payments, random, world } = play
  await restart(play, pick(random, world.chains.rotations))
  const rows = await paymentsOf(world.mortal.now())
  for (const payment of payments) {
    const row = rows.find((one) => isOf(one, payment))
    const isUnsigned = payment.network === "solana-devnet" && (row?.state === "verified" || row?.state === "failed")
    payment.isExpired ||= row === undefined || isUnsigned
  }
}

const serveOthers: Action = async (play) => {
  const served = play.random.next() < 0.5 ? testNetworks : [pick(play.random, testNetworks)]
  play.trace.push(`serves ${served.join(" and ")}`)
  await serve(play, served)
}

export const serve = async (play: Play, served: ReadonlyArray<TestNetwork>): Promise<void> => {
  play.world.served = served
  await restart(play, { MUNIMENT_PAYMENT_NETWORKS: served.join(",") })
}

const restart = async ({ underWay, world }: Play, changed: Readonly<Record<string, string>>): Promise<void> => {
  await world.mortal.kill()
  await Promise.all(underWay)
  await world.mortal.start(changed)
}

/** Most payments under way are on their chain by then. */
const landingMillis = 500
const lostForGoodShare = 0.3

/** The transaction of one payment, and on an EVM chain all later ones, have never happened. */
const reorganise: Action = async (play) => {
  const { payments, random, trace, underWay, world } = play
  await Promise.race([Promise.all(underWay), new Promise((wake) => setTimeout(wake, landingMillis))])
  const rows = await paymentsOf(world.mortal.now())
  const sent = payments.flatMap((payment) => {
    const row = rows.find((one) => isOf(one, payment))
    return row === undefined || row.transaction === null ? [] : [{ payment, hash: row.transaction, state: row.state }]
  })
  const chosen = random.pick(sent)
  if (chosen === undefined || (await isFinal(world.chains, chosen.payment.network, chosen.hash))) return
  const isUndone = await world.chains.reorg(chosen.payment.network, chosen.hash).then(
    () => true,
    // It had not landed.
    () => false
  )
  if (!isUndone) return
  trace.push(`${chosen.payment.cents} is undone, ${chosen.state}`)
  // Then it can come back only as long as its blockhash serves, and is reversed after that.
  if (random.next() < lostForGoodShare) await expire(play)
}

/** No chain takes back what it has called final. An interleaving is too short for that on the EVM chain. */
const isFinal = async ({ solana }: PaymentChains, network: TestNetwork, hash: string): Promise<boolean> => {
  if (network !== "solana-devnet") return false
  const rpc = createSolanaRpc(solana.rpcUrl)
  const { value } = await rpc.getSignatureStatuses([hash as Signature]).send()
  return value[0]?.confirmationStatus === "finalized"
}

const tokenAbi = parseAbi([
  "function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)"
])

/** Somebody else hands in an authorisation that we have claimed: the payer pays once. */
const frontRun: Action = async ({ payments, random, trace, world }) => {
  const payment = random.pick(payments.filter(({ network }) => network === "base-sepolia"))
  if (payment === undefined || (await rowOf(world, payment)) === undefined) return
  const { rpcUrl, usdc } = world.chains.evm
  const { payload } = decodeHeader(Object.values(payment.headers)[0]!)
  const { from, nonce, to, validAfter, validBefore, value } = payload.authorization
  const client = createTestClient({ mode: "anvil", chain: baseSepolia, transport: http(rpcUrl, { retryCount: 0 }) })
  const sent = await client
    .extend(walletActions)
    .writeContract({
      account: evmAddresses.admin,
      address: usdc.address,
      abi: tokenAbi,
      functionName: "transferWithAuthorization",
      args: [from, to, BigInt(value), BigInt(validAfter), BigInt(validBefore), nonce, payload.signature as Hex]
    })
    .then(
      () => true,
      // It is used already.
      () => false
    )
  if (sent) trace.push(`${payment.cents} is handed in by another`)
}

const holdBlocks: Action = async ({ random, trace, world: { chains } }) => {
  const network = pick(random, testNetworks)
  trace.push(`no blocks on ${network}`)
  if (network === "base-sepolia") await chains.evm.setAutomine(false)
  else chains.solana.pause()
}

/** Blocks come by themselves again. */
export const giveBlocks: Action = async ({ world: { chains } }) => {
  await chains.evm.setAutomine(true)
  await chains.evm.mine(1)
  chains.solana.resume()
}

/** Every blockhash that was given out so far runs out, and what landed becomes final. */
export const expiringSlots = 400

const expire: Action = async ({ payments, world }) => {
  for (const payment of payments) payment.isExpired ||= payment.network === "solana-devnet"
  world.chains.solana.advance(expiringSlots)
}

const reconcileNow: Action = async ({ underWay, world }) => {
  const server = world.mortal.now()
  const sent = server.asOperator("POST", "/admin/payments/reconcile").then(
    () => undefined,
    () => undefined
  )
  underWay.add(sent)
  void sent.finally(() => underWay.delete(sent))
}

const pause: Action = ({ random }) => new Promise((wake) => setTimeout(wake, random.between(0, pauseMillisMax)))

const isOf = ({ amountUsd }: PaymentRow, { cents }: Played): boolean => Math.round(amountUsd * 100) === cents

/** The journal's row of a payment. */
export const rowOf = async ({ mortal }: PaymentWorld, payment: Played): Promise<PaymentRow | undefined> =>
  (await paymentsOf(mortal.now())).find((row) => isOf(row, payment))

const pick = <A>(random: SeededRandom, choices: ReadonlyArray<A>): A => choices[random.between(0, choices.length - 1)]!

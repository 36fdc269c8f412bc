/**
 * Random interleavings of payments, duplicates, faults, kills, reorganisations, and of an operator who changes payees,
 * keys and networks, on both chains. After
 * each everything works again, some clients come back, and the books must agree with the chains: every
 * good payment that was taken or repeated is credited, once.
 */
import { newPayer, paymentsOf, reconcile, expectMoneyConserved, depositor } from "./PaymentCalls.ts"
import { type PaymentChains, startPaymentChains, type TestNetwork, testNetworks } from "./PaymentChains.ts"
import {
  actions,
  expiringSlots,
  giveBlocks,
  kill,
  nodesBack,
  type PaymentWorld,
  type Play,
  type Played,
  rowOf,
  serve
} from "./PaymentActions.ts"
import { repeatUntilKnown, startMortalServer } from "./PaymentKills.ts"
import { SeededRandom } from "./SeededRandom.ts"

export interface InterleavingReport {
  readonly seed: number
  readonly payments: number
  readonly credited: number
  readonly reversed: number
  readonly kills: number
  /** Payments that a reorganised chain took back, for a while or for good. */
  readonly undone: number
  /** Statuses of all answers to payments. */
  readonly answers: ReadonlyArray<number>
  /** Empty, or what is wrong; the trace is what led to it. */
  readonly problems: ReadonlyArray<string>
  readonly trace: ReadonlyArray<string>
}

const accountsPerWorld = 4
const payersPerNetwork = 3
const firstCents = 9
const actionsPerPlay = { least: 6, most: 18 }
/** Of the clients whose payment was not answered. */
const comesBackShare = 0.7
/** Who is still at work after this long is cut off by one more kill. */
const endMillisMax = 1_000

export const startPaymentWorld = async (): Promise<PaymentWorld> => {
  const chains = await startPaymentChains()
  const mortal = await startMortalServer(chains.environment)
  const accounts = await Promise.all(
    Array.from({ length: accountsPerWorld }, async (_, at) => {
      const name = `account-${at}`
      return { name, secret: await mortal.now().newAccount(name) }
    })
  )
  const payersOn = (network: TestNetwork) =>
    Promise.all(Array.from({ length: payersPerNetwork }, () => newPayer(chains, network)))
  const payers = { "base-sepolia": await payersOn("base-sepolia"), "solana-devnet": await payersOn("solana-devnet") }
  return { chains, mortal, accounts, payers, served: testNetworks, lastCents: firstCents }
}

export const endPaymentWorld = async ({ chains, mortal }: PaymentWorld): Promise<void> => {
  await mortal.end()
  await chains.stop()
}

export const playInterleaving = async (world: PaymentWorld, seed: number): Promise<InterleavingReport> => {
  const random = new SeededRandom(seed)
  const play: Play = { world, random, payments: [], underWay: new Set(), trace: [], problems: [] }
  for (let left = random.between(actionsPerPlay.least, actionsPerPlay.most); left > 0; left--) {
    const { act, name } = draw(random)
    play.trace.push(name)
    await act(play)
  }
  await comeToRest(play)
  await comeBack(play)
  await untilChainsAgree(play)
  await expectMoneyConserved(world.mortal.now(), world.chains).catch((cause: unknown) =>
    play.problems.push(cause instanceof Error ? cause.message : String(cause))
  )
  const counts = await judge(play)
  return {
    seed,
    payments: play.payments.length,
    kills: play.trace.filter((line) => line.startsWith("kill")).length,
    undone: play.trace.filter((line) => line.includes("is undone")).length,
    answers: play.payments.flatMap(({ told }) => told.map(({ status }) => status)),
    ...counts,
    problems: play.problems,
    trace: play.trace
  }
}

const weights = actions.reduce((sum, { weight }) => sum + weight, 0)

const draw = (random: SeededRandom) => {
  let left = random.next() * weights
  return actions.find(({ weight }) => (left -= weight) < 0) ?? actions[0]!
}

/** Nodes and chains work; no request is under way. */
const comeToRest = async (play: Play): Promise<void> => {
  await nodesBack(play)
  await giveBlocks(play)
  if (play.world.served.length < testNetworks.length) await serve(play, testNetworks)
  const timeIsOver = new Promise<boolean>((wake) => setTimeout(wake, endMillisMax, true))
  const isLate = await Promise.race([Promise.all(play.underWay).then(() => false), timeIsOver])
  if (!isLate) return
  play.trace.push("kill at the end")
  await kill(play)
}

/** Some clients repeat their payment until they know. */
const comeBack = async (play: Play): Promise<void> => {
  for (const payment of play.payments) {
    if (play.random.next() > comesBackShare) continue
    const { cents, headers, told } = payment
    const { name, secret } = payment.account
    const account = depositor(play.world.mortal.now(), name, secret)
    const { body, status } = await repeatUntilKnown(() => account.deposit(cents / 100, headers))
    play.trace.push(`${cents} comes back: ${status}`)
    told.push({ account: name, status, body })
  }
}

const roundsMax = 60
const roundPauseMillis = 50
/** What is still good has landed by then. */
const roundsBeforeBlocks = 6

/** Reconciliation has brought back what reorganisations undid, or has given it up. */
const untilChainsAgree = async ({ payments, world: { chains, mortal } }: Play): Promise<void> => {
  for (let round = 0; round < roundsMax; round++) {
    const open = await reconcile(mortal.now())
    if (open === 0 && (await doChainsAgree(chains, await paymentsOf(mortal.now())))) return
    await new Promise((wake) => setTimeout(wake, roundPauseMillis))
    // What failed is certain by a second block only.
    await chains.evm.mine()
    // That a payment can never land any more is certain many blocks later only.
    const waits = round >= roundsBeforeBlocks && payments.some(({ isExpired }) => isExpired)
    if (waits) chains.solana.advance(expiringSlots)
  }
}

const doChainsAgree = async (chains: PaymentChains, rows: Awaited<ReturnType<typeof paymentsOf>>): Promise<boolean> => {
  for (const network of testNetworks) {
    const kept = rows.filter((row) => row.network === network && isKept(row.state))
    const cents = kept.reduce((sum, { amountUsd }) => sum + Math.round(amountUsd * 100), 0)
    if ((await chains.received(network)) !== cents * unitsPerCent) return false
  }
  return true
}

const unitsPerCent = 10_000
const isKept = (state: string): boolean => state === "settled" || state === "finalized"

/** Each payment against what its bearers were told. */
const judge = async (play: Play): Promise<{ readonly credited: number; readonly reversed: number }> => {
  let credited = 0
  let reversed = 0
  for (const payment of play.payments) {
    const row = await rowOf(play.world, payment)
    if (row !== undefined && isKept(row.state)) credited++
    if (row?.state === "reversed") reversed++
    play.problems.push(...problemsOf(payment, row?.state).map((text) => `${payment.cents}: ${text}`))
  }
  return { credited, reversed }
}

const problemsOf = ({ isExpired, told }: Played, state: string | undefined): ReadonlyArray<string> => {
  const statuses = told.map(({ status }) => status)
  const wasCredited = state !== undefined && (isKept(state) || state === "reversed")
  const bearers = new Set(told.filter(({ status }) => status === 200).map(({ account }) => account))
  return [
    ...(statuses.some((status) => !knownStatuses.has(status)) ? [`answers ${statuses.join(", ")}`] : []),
    ...(statuses.includes(200) && !wasCredited ? [`answered 200 and it is ${state ?? "unknown"}`] : []),
    ...(bearers.size > 1 ? [`answered 200 to ${[...bearers].join(" and ")}`] : []),
    ...(statuses.includes(402) && !isExpired
      ? [
          `good, and refused: ${told
            .map(({ body }) => body.error)
            .filter(Boolean)
            .join("; ")}`
        ]
      : []),
    ...((state === "failed" || state === "reversed") && !isExpired ? [`good, and ${state}`] : [])
  ]
}

/** Credited, not known yet, refused, another's, more than the account's share, the network cannot be asked. */
const knownStatuses = new Set([200, 202, 402, 409, 429, 503])

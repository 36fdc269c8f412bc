/**
 * Random interleavings of payments, duplicates, faults, kills, reorganisations, and of an operator who changes payees,
 * keys and networks, on both chains. After
 * each everything works again, some clients come back, and the books must agree with the chains: every
 * good payment that was taken or repeated is credited, once.
 */
import { newPayer, type PaymentRow, paymentsOf, reconcile, expectMoneyConserved, depositor } from "./PaymentCalls.ts"
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
import { isOutOfTime, ranOutAt } from "./PaymentLifetimes.ts"
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
  /** Statuses and codes of all answers to payments. */
  readonly answers: ReadonlyArray<string>
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

/** A failure of the play itself names its seed and what became of the server. */
export const playInterleaving = (world: PaymentWorld, seed: number): Promise<InterleavingReport> =>
  play(world, seed).catch((cause: unknown) => {
    const { output, process } = world.mortal.now()
    const end = `exit code ${process.exitCode}, signal ${process.signalCode}; it said last: ${output().slice(-2_000)}`
    throw new Error(`seed ${seed} was not played to its end; the server: ${end}`, { cause })
  })

const play = async (world: PaymentWorld, seed: number): Promise<InterleavingReport> => {
  const random = new SeededRandom(seed)
  const played: Play = { world, random, payments: [], underWay: new Set(), trace: [], problems: [] }
  for (let left = random.between(actionsPerPlay.least, actionsPerPlay.most); left > 0; left--) {
    const { act, name } = draw(random)
    played.trace.push(name)
    await act(played)
  }
  await comeToRest(played)
  await comeBack(played)
  await untilChainsAgree(played)
  await expectMoneyConserved(world.mortal.now(), world.chains).catch((cause: unknown) =>
    played.problems.push(cause instanceof Error ? cause.message : String(cause))
  )
  const counts = await judge(played)
  return {
    seed,
    payments: played.payments.length,
    kills: played.trace.filter((line) => line.startsWith("kill")).length,
    undone: played.trace.filter((line) => line.includes("is undone")).length,
    answers: played.payments.flatMap(({ told }) =>
      told.map(({ body, status }) => `${status} ${body.code ?? ""}`.trim())
    ),
    ...counts,
    problems: played.problems,
    trace: played.trace
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

/** Some clients repeat their payment until they know, and sign another one if its time ran out meanwhile. */
const comeBack = async (play: Play): Promise<void> => {
  const { chains } = play.world
  const clients = [...play.payments]
  for (const payment of clients) {
    if (play.random.next() > comesBackShare) continue
    for (let own = payment, left = signaturesMax; left > 0; left--) {
      await untilTold(play, own)
      if (!isOutOfTime(chains, own, own.told.at(-1)!)) break
      own = await signAnew(play, own)
    }
  }
  // What had not landed by then may fail with nobody to blame.
  for (const payment of play.payments) payment.isExpired ||= ranOutAt(chains, payment) !== undefined
}

/** Of one client, the first included: each is good for a minute. */
const signaturesMax = 5

const untilTold = async ({ trace, world }: Play, { account, cents, headers, told }: Played): Promise<void> => {
  const { name, secret } = account
  const client = depositor(world.mortal.now(), name, secret)
  const { body, status } = await repeatUntilKnown(() => client.deposit(cents / 100, headers))
  trace.push(`${cents} comes back: ${status}`)
  told.push({ account: name, status, body, at: Date.now() })
}

/** Another payment of the same client: the books count it like any other. */
const signAnew = async ({ payments, random, trace, world }: Play, { account, cents, network }: Played) => {
  const again = ++world.lastCents
  const payer = random.pick(world.payers[network])!
  const client = depositor(world.mortal.now(), account.name, account.secret)
  const headers = await client.sign(payer, again / 100)
  const payment: Played = { network, account, cents: again, headers, isExpired: false, told: [] }
  payments.push(payment)
  trace.push(`${cents} ran out of time, signed anew as ${again}`)
  return payment
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
    play.problems.push(...problemsOf(play.world.chains, payment, row).map((text) => `${payment.cents}: ${text}`))
  }
  return { credited, reversed }
}

const problemsOf = (chains: PaymentChains, payment: Played, row: PaymentRow | undefined): ReadonlyArray<string> => {
  const { account, told } = payment
  const state = row?.state
  const isExpired = payment.isExpired || told.some((answer) => isOutOfTime(chains, payment, answer))
  const statuses = told.map(({ status }) => status)
  const wasCredited = state !== undefined && (isKept(state) || state === "reversed")
  const bearers = new Set(told.filter(({ status }) => status === 200).map(({ account }) => account))
  const refused = told.filter(
    (answer) =>
      answer.body.code === "payment_invalid" && !(isUnserved(answer) && (row?.createdAt ?? Infinity) >= answer.at)
  )
  const others = told.filter(({ body }) => body.code === "payment_already_used")
  return [
    ...told.filter((answer) => !isLegitimate(answer)).map(({ body, status }) => `${status}: ${JSON.stringify(body)}`),
    ...(statuses.includes(200) && !wasCredited ? [`answered 200 and it is ${state ?? "unknown"}`] : []),
    ...(bearers.size > 1 ? [`answered 200 to ${[...bearers].join(" and ")}`] : []),
    ...(refused.length > 0 && !isExpired
      ? [`good, and refused: ${refused.map(({ body }) => body.error).join("; ")}`]
      : []),
    // Whoever brings a payment first has it; the others are told so, and the first one never is.
    ...(bearers.has(account.name) && others.some((other) => other.account === account.name)
      ? ["credited to an account that was told that it is another's"]
      : []),
    ...((state === "failed" || state === "reversed") && !isExpired ? [`good, and ${state}`] : [])
  ]
}

type Told = Played["told"][number]

/** A payment that was not claimed before its network was given up. */
const isUnserved = ({ body }: Told): boolean => String(body.error).includes("are not accepted; accepted are:")

/** What a bearer of a payment may be told, by status and code, and of refusals under load the bound. */
const isLegitimate = ({ body, status }: Told): boolean => {
  const bound = body.details?.[0]?.path
  switch (status) {
    case 200:
      return body.success === true
    case 202:
      return body.code === "payment_pending"
    case 402:
      return body.code === "payment_invalid"
    case 409:
      return body.code === "payment_already_used"
    case 429:
      // The account's share, or the daily budget of payments that chains revert, which front-runs use up.
      return body.code === "rate_limited" && (bound === "share" || String(body.error).startsWith(revertsText))
    case 503:
      return body.code === "payment_unavailable" || (body.code === "overloaded" && bound === "wait")
    default:
      return false
  }
}

const revertsText = "too many payments of this payer or account failed on their chain"

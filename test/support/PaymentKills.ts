/**
 * Kill -9 at a chosen step of a payment: a node that falls silent at that step's first call holds the
 * payment there, so that no kill is a matter of luck; and what the journal on disk says meanwhile.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { beforeTests } from "./beforeTests.ts"
import { type PaymentChains, sendMethods, type TestNetwork } from "./PaymentChains.ts"
import type { Depositor } from "./PaymentCalls.ts"
import { type Answer, patienceMillis, repository, startServer, type TestServer } from "./TestServer.ts"

/** A server that dies and comes back over the same data. */
export interface MortalServer {
  readonly now: () => TestServer
  readonly dataDirectory: string
  readonly kill: () => Promise<void>
  /** Does nothing where it lives. `changed` replaces variables of the environment, from now on. */
  readonly start: (changed?: Readonly<Record<string, string>>) => Promise<void>
  /** For good, with its data. */
  readonly end: () => Promise<void>
}

export const startMortalServer = async (first: Readonly<Record<string, string>>): Promise<MortalServer> => {
  let environment = first
  const dataDirectory = mkdtempSync(join(tmpdir(), "muniment-payments-"))
  let server = await startServer({ dataDirectory, environment })
  let isAlive = true
  const kill = async (): Promise<void> => {
    if (isAlive) await server.kill()
    isAlive = false
  }
  return {
    now: () => server,
    dataDirectory,
    kill,
    start: async (changed) => {
      environment = { ...environment, ...changed }
      if (!isAlive) server = await startServer({ dataDirectory, environment })
      isAlive = true
    },
    end: async () => {
      await kill()
      rmSync(dataDirectory, { recursive: true, force: true })
    }
  }
}

/** The same for the tests of a file or of a describe block. */
export const useMortalServer = (chains: PaymentChains): MortalServer =>
  beforeTests(
    () => startMortalServer(chains.environment),
    (mortal) => mortal.end()
  )

/**
 * Where a payment stands still. `verify`: not yet claimed. `sign`: claimed, nothing signed. `send`: signed
 * and journalled, and the chain has not heard of it. `look`: the chain has it, and we have not looked.
 */
export type Step = "verify" | "sign" | "send" | "look"

/** The call that a step makes and none before it; Solana's `sign` asks nobody. */
const firstCalls: Readonly<Record<TestNetwork, Readonly<Record<Exclude<Step, "look">, string | undefined>>>> = {
  "base-sepolia": { verify: "eth_getCode", sign: "eth_estimateGas", send: sendMethods["base-sepolia"] },
  "solana-devnet": { verify: "simulateTransaction", sign: undefined, send: sendMethods["solana-devnet"] }
}

/** More calls than a payment makes until it is given up. */
const heldCallsMax = 1_000

/**
 * Arms the proxy; resolves when the next payment stands at the step, where it stays until `up`.
 * Solana's `sign` is held at `send`, for `unsign` to take back.
 */
export const holdAt = (chains: PaymentChains, network: TestNetwork, step: Step): Promise<void> =>
  new Promise((reached) => {
    const sending = sendMethods[network]
    const held = step === "look" ? undefined : (firstCalls[network][step] ?? sending)
    let isSent = false
    chains.rpc[network].failNext(
      ({ method }) => {
        const isHeld = held === undefined ? isSent : method === held
        if (isHeld) reached()
        isSent ||= method === sending
        return isHeld
      },
      "hang",
      heldCallsMax
    )
  })

/** A moment at which the server kills itself (`dyingService.mjs`). */
export type Moment = "keep" | "answer"

/** For the environment of the server; undefined: it lives. */
export const diesAt = (moment: Moment | undefined): Readonly<Record<string, string>> =>
  moment === undefined
    ? { NODE_OPTIONS: "" }
    : {
        NODE_OPTIONS: `--import=${join(repository, "test/support/dyingService.mjs")}`,
        MUNIMENT_TEST_DIES_AT: moment
      }

/** A payment as it lies on the disk of a dead server. */
export interface JournalRow {
  readonly state: string
  readonly hash: string | null
}

/** The newest payment of a network. The server is dead. */
export const newestOnDisk = (dataDirectory: string, network: TestNetwork): JournalRow | undefined =>
  withJournal(dataDirectory, (database) => {
    const row = database
      .prepare("SELECT state, tx_hash AS hash FROM payment WHERE network = ? ORDER BY rowid DESC LIMIT 1")
      .get(network)
    return row && { state: String(row["state"]), hash: row["hash"] === null ? null : String(row["hash"]) }
  })

/** Charges of calls that are reserved and not settled. The server is dead. */
export const openChargesOnDisk = (dataDirectory: string): number =>
  withJournal(dataDirectory, (database) =>
    Number(database.prepare("SELECT count(*) AS open FROM reservation WHERE state = 'open'").get()?.["open"])
  )

/**
 * The disk as it was one commit earlier, between claim and signature: where no network call lies between
 * two commits, no silent node can hold a payment there.
 */
export const unsign = (dataDirectory: string, network: TestNetwork): void =>
  withJournal(dataDirectory, (database) => {
    database
      .prepare(
        `UPDATE payment SET state = 'verified', tx_hash = NULL, tx_raw = NULL
         WHERE state = 'broadcasting' AND network = ?`
      )
      .run(network)
  })

const withJournal = <A>(dataDirectory: string, use: (database: DatabaseSync) => A): A => {
  const database = new DatabaseSync(join(dataDirectory, "control.db"))
  try {
    return use(database)
  } finally {
    database.close()
  }
}

/** Under way, more than the account's share now, the network or the service cannot now. */
const unknownStatuses = new Set([202, 429, 503])
const repeatPauseMillis = 100

/** What a client does that was told nothing, or 202: the same request again. -> the first other answer. */
export const repeatUntilKnown = async (send: () => Promise<Answer>): Promise<Answer> => {
  const deadline = Date.now() + patienceMillis
  for (;;) {
    const answer = await send()
    if (!unknownStatuses.has(answer.status)) return answer
    if (Date.now() > deadline) throw new Error(`the outcome is still unknown: ${JSON.stringify(answer.body)}`)
    await new Promise((wake) => setTimeout(wake, repeatPauseMillis))
  }
}

/** Sends a deposit that the server will not live to answer. */
export const depositInVain = (who: Depositor, usd: number, headers: Readonly<Record<string, string>>): Promise<void> =>
  who.deposit(usd, headers).then(
    ({ status }) => {
      throw new Error(`the deposit was answered with ${status} before the kill`)
    },
    () => undefined
  )

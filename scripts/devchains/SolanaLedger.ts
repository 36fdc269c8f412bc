/**
 * The chain around the VM: slots and the blockhashes they give out, duplicates (by message, as validators do),
 * statuses and history. A transaction lands in the current slot as it comes; while the ledger is paused it waits for
 * the next slot. Its changes are kept, so that a reorganisation can undo it: the state returns to before it, and later
 * transactions are replayed without it, whether or not they then succeed.
 */
import { type Address, getBase58Decoder, type Signature } from "@solana/kit"
import { randomBytes } from "node:crypto"
import { isLandedFault, rpcErrorCode, type SolanaFault, SolanaRpcError } from "./SolanaFault.ts"
import { holdingOf, type TokenHolding } from "./SolanaTokens.ts"
import type { SolanaTransaction } from "./SolanaTransaction.ts"
import { type Execution, type SolanaAccount, SolanaVm } from "./SolanaVm.ts"

export type Commitment = "processed" | "confirmed" | "finalized"

/** One account of a transaction at a moment; index as in the message. */
export interface Balance {
  readonly lamports: bigint
  readonly holding: TokenHolding | undefined
}

export interface LandedTransaction extends SolanaTransaction {
  readonly slot: bigint
  readonly landedAtMillis: number
  readonly execution: Execution
  readonly before: ReadonlyArray<Balance>
  readonly after: ReadonlyArray<Balance>
}

/** A blockhash is valid for this many slots after its own. */
export const blockhashSlotsMax = 150n
const finalizedAfterSlots = 32n
const blockhashBytes = 32
/** Number of changes that can be undone. */
const journalEntriesMax = 10_000

type State = ReadonlyArray<readonly [Address, SolanaAccount | undefined]>

interface JournalEntry {
  /** Undefined for a change from outside, such as an airdrop. */
  readonly signature: Signature | undefined
  readonly before: State
  readonly replay: () => void
}

export class SolanaLedger {
  readonly vm = new SolanaVm()
  readonly confirmDelayMillis: number
  slot: bigint
  blockhash: string
  isPaused = false
  readonly #blockhashSlots = new Map<string, bigint>()
  /** When each that has expired did. */
  readonly #blockhashEnds = new Map<string, number>()
  readonly #landed = new Map<Signature, LandedTransaction>()
  readonly #landedMessages = new Set<string>()
  #waiting: ReadonlyArray<SolanaTransaction> = []
  #journal: Array<JournalEntry> = []

  /** A landed transaction counts as confirmed after `confirmDelayMillis`. */
  constructor(confirmDelayMillis: number) {
    this.confirmDelayMillis = confirmDelayMillis
    this.slot = this.vm.slot
    this.blockhash = this.#newBlockhash()
  }

  /** Advances by `slots`; waiting transactions land in the last one, unless their blockhash has expired. */
  advance(slots = 1): void {
    this.slot += BigInt(slots)
    this.vm.setTime(this.slot, BigInt(Math.floor(Date.now() / 1_000)))
    this.blockhash = this.#newBlockhash()
    const waiting = this.#waiting
    this.#waiting = []
    for (const transaction of waiting) if (this.#faultOfLifetime(transaction) === undefined) this.#land(transaction)
  }

  isBlockhashValid(blockhash: string): boolean {
    const slot = this.#blockhashSlots.get(blockhash)
    return slot !== undefined && this.slot - slot <= blockhashSlotsMax
  }

  /** Milliseconds; undefined: it serves still. */
  blockhashEndedAt(blockhash: string): number | undefined {
    return this.#blockhashEnds.get(blockhash)
  }

  /** `isBlockhashReplaced`: as if the transaction had the newest blockhash. */
  simulate(transaction: SolanaTransaction, verifySignatures: boolean, isBlockhashReplaced: boolean): Execution {
    const fault = isBlockhashReplaced ? undefined : this.#faultOfLifetime(transaction)
    if (fault !== undefined) return { fault, logs: [], unitsConsumed: 0n }
    return this.vm.simulate(transaction.transaction, verifySignatures)
  }

  /** Throws `SolanaRpcError`; without preflight, a transaction that cannot land is dropped silently, as nodes do. */
  send(transaction: SolanaTransaction, skipPreflight: boolean): Signature {
    if (!skipPreflight) requirePreflight(this.simulate(transaction, true, false))
    const isWaiting = this.#waiting.some(({ messageKey }) => messageKey === transaction.messageKey)
    if (!isWaiting && this.#faultOfLifetime(transaction) === undefined) {
      if (this.isPaused) this.#waiting = [...this.#waiting, transaction]
      else this.#land(transaction)
    }
    return transaction.signature
  }

  transaction(signature: string, commitment: Commitment): LandedTransaction | undefined {
    const found = this.#landed.get(signature as Signature)
    return found !== undefined && this.#isSeenAt(found, commitment) ? found : undefined
  }

  /** Newest first. */
  transactionsOf(address: string, commitment: Commitment): ReadonlyArray<LandedTransaction> {
    return [...this.#landed.values()]
      .filter((one) => one.message.staticAccounts.some((account) => account === address))
      .filter((one) => this.#isSeenAt(one, commitment))
      .reverse()
  }

  commitmentOf({ landedAtMillis, slot }: LandedTransaction): Commitment {
    if (Date.now() - landedAtMillis < this.confirmDelayMillis) return "processed"
    return this.slot - slot >= finalizedAfterSlots ? "finalized" : "confirmed"
  }

  /** Changes an account from outside, without a transaction. */
  write(address: Address, change: (account: SolanaAccount | undefined) => SolanaAccount): void {
    const before = this.vm.account(address)
    this.vm.put(change(before))
    this.#keep({ signature: undefined, before: [[address, before]], replay: () => this.write(address, change) })
  }

  /** Undoes that transaction; it may be sent again while its blockhash is valid. */
  reorg(signature: Signature): void {
    if (this.#waiting.some((one) => one.signature === signature)) {
      this.#waiting = this.#waiting.filter((one) => one.signature !== signature)
      return
    }
    const at = this.#journal.findIndex((entry) => entry.signature === signature)
    if (at < 0) throw new Error(`no transaction ${signature} to undo`)
    const undone = this.#journal.splice(at)
    for (const entry of undone.toReversed()) this.#undo(entry)
    for (const { replay } of undone.slice(1)) replay()
  }

  #undo({ signature, before }: JournalEntry): void {
    for (const [address, account] of before) {
      if (account === undefined) this.vm.remove(address)
      else this.vm.put(account)
    }
    const transaction = signature === undefined ? undefined : this.#landed.get(signature)
    if (transaction === undefined) return
    this.#landed.delete(transaction.signature)
    this.#landedMessages.delete(transaction.messageKey)
  }

  #land(transaction: SolanaTransaction, slot = this.slot, landedAtMillis = Date.now()): void {
    const { staticAccounts } = transaction.message
    const before = this.#stateOf(staticAccounts)
    const execution = this.vm.execute(transaction.transaction)
    if (execution.fault !== undefined && !isLandedFault(execution.fault)) return
    const after = this.#stateOf(staticAccounts)
    this.#landed.set(transaction.signature, {
      ...transaction,
      slot,
      landedAtMillis,
      execution,
      before: this.#balances(before),
      after: this.#balances(after)
    })
    this.#landedMessages.add(transaction.messageKey)
    this.#keep({
      signature: transaction.signature,
      before: before.filter(([, account]) => account?.isExecutable !== true),
      replay: () => this.#land(transaction, slot, landedAtMillis)
    })
  }

  #faultOfLifetime({ message, messageKey }: SolanaTransaction): SolanaFault | undefined {
    if (!this.isBlockhashValid(message.lifetimeToken)) return "BlockhashNotFound"
    return this.#landedMessages.has(messageKey) ? "AlreadyProcessed" : undefined
  }

  #isSeenAt(transaction: LandedTransaction, commitment: Commitment): boolean {
    return commitments.indexOf(this.commitmentOf(transaction)) >= commitments.indexOf(commitment)
  }

  #stateOf(addresses: ReadonlyArray<Address>): State {
    return addresses.map((address) => [address, this.vm.account(address)])
  }

  #balances(state: State): ReadonlyArray<Balance> {
    return state.map(([, account]) => ({ lamports: account?.lamports ?? 0n, holding: holdingOf(this.vm, account) }))
  }

  #keep(entry: JournalEntry): void {
    this.#journal.push(entry)
    if (this.#journal.length > journalEntriesMax) this.#journal.shift()
  }

  /** Random, so that two equal payments, one after a restart, have different signatures. */
  #newBlockhash(): string {
    const blockhash = getBase58Decoder().decode(randomBytes(blockhashBytes))
    this.#blockhashSlots.set(blockhash, this.slot)
    for (const [old, slot] of this.#blockhashSlots) {
      if (this.slot - slot <= blockhashSlotsMax) break
      this.#blockhashSlots.delete(old)
      this.#blockhashEnds.set(old, Date.now())
    }
    return blockhash
  }
}

const commitments: ReadonlyArray<Commitment> = ["processed", "confirmed", "finalized"]

const preflightReasons: Readonly<Record<string, string>> = {
  BlockhashNotFound: "Blockhash not found",
  AlreadyProcessed: "This transaction has already been processed"
}

const requirePreflight = ({ fault, logs, unitsConsumed }: Execution): void => {
  if (fault === undefined) return
  if (fault === "SignatureFailure") {
    throw new SolanaRpcError(rpcErrorCode.signatureInvalid, "Transaction signature verification failure")
  }
  const reason = typeof fault === "string" ? (preflightReasons[fault] ?? fault) : JSON.stringify(fault)
  const data = { err: fault, logs, unitsConsumed, accounts: null, returnData: null }
  throw new SolanaRpcError(rpcErrorCode.preflightFailed, `Transaction simulation failed: ${reason}`, data)
}

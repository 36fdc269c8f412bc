/**
 * LiteSVM (the runtime of Solana's validators with the real SPL programs, in this process) with plain
 * accounts in and out. It knows no blocks: blockhashes, statuses and duplicates are the ledger's.
 */
import { type Address, lamports, type Transaction } from "@solana/kit"
import { FailedTransactionMetadata, LiteSVM } from "litesvm"
import { faultOf, type SolanaFault } from "./SolanaFault.ts"

export interface SolanaAccount {
  readonly address: Address
  readonly programAddress: Address
  readonly lamports: bigint
  readonly data: Uint8Array
  readonly isExecutable: boolean
}

export interface Execution {
  /** Undefined if it succeeded. */
  readonly fault: SolanaFault | undefined
  readonly logs: ReadonlyArray<string>
  readonly unitsConsumed: bigint
}

export const systemProgram = "11111111111111111111111111111111" as Address

export class SolanaVm {
  // The ledger checks both itself: it knows its blockhashes, and messages by their hash.
  readonly #svm = new LiteSVM().withBlockhashCheck(false).withTransactionHistory(0n)

  account(address: Address): SolanaAccount | undefined {
    const found = this.#svm.getAccount(address)
    if (!found.exists) return undefined
    const { programAddress, data, executable } = found
    return { address, programAddress, lamports: found.lamports, data: new Uint8Array(data), isExecutable: executable }
  }

  /** An account without lamports does not exist. */
  put({ address, programAddress, data, isExecutable, ...account }: SolanaAccount): void {
    this.#svm.setAccount({
      address,
      programAddress,
      data,
      executable: isExecutable,
      lamports: lamports(account.lamports),
      space: BigInt(data.length)
    })
  }

  remove(address: Address): void {
    this.put({ address, programAddress: systemProgram, lamports: 0n, data: new Uint8Array(), isExecutable: false })
  }

  /** Rent-exempt balance, in lamports, of an account with `bytes` of data. */
  rentExemption(bytes: number): bigint {
    return this.#svm.minimumBalanceForRentExemption(BigInt(bytes))
  }

  get slot(): bigint {
    return this.#svm.getClock().slot
  }

  setTime(slot: bigint, unixSeconds: bigint): void {
    this.#svm.warpToSlot(slot)
    const clock = this.#svm.getClock()
    clock.unixTimestamp = unixSeconds
    this.#svm.setClock(clock)
  }

  execute(transaction: Transaction): Execution {
    if (!isFullySigned(transaction)) return { fault: "SignatureFailure", logs: [], unitsConsumed: 0n }
    const outcome = this.#svm.sendTransaction(transaction)
    const failed = outcome instanceof FailedTransactionMetadata
    const meta = failed ? outcome.meta() : outcome
    return {
      fault: failed ? faultOf(outcome) : undefined,
      logs: meta.logs(),
      unitsConsumed: meta.computeUnitsConsumed()
    }
  }

  simulate(transaction: Transaction, verifySignatures: boolean): Execution {
    if (verifySignatures && !isFullySigned(transaction))
      return { fault: "SignatureFailure", logs: [], unitsConsumed: 0n }
    this.#svm.withSigverify(verifySignatures)
    try {
      const outcome = this.#svm.simulateTransaction(transaction)
      const meta = outcome.meta()
      const fault = outcome instanceof FailedTransactionMetadata ? faultOf(outcome) : undefined
      return { fault, logs: meta.logs(), unitsConsumed: meta.computeUnitsConsumed() }
    } finally {
      this.#svm.withSigverify(true)
    }
  }
}

const isFullySigned = ({ signatures }: Transaction): boolean =>
  Object.values(signatures).every((signature) => signature !== null)

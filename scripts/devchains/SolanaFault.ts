/** Failures of transactions, as a Solana RPC node spells them; LiteSVM gives their numbers. */
import type { FailedTransactionMetadata } from "litesvm"

/** `"BlockhashNotFound"`, or `{ InstructionError: [2, { Custom: 1 }] }`. */
export type SolanaFault = string | Readonly<Record<string, unknown>>

/** Error response of a node. */
export class SolanaRpcError extends Error {
  override readonly name = "SolanaRpcError"
  readonly code: number
  readonly data: unknown

  constructor(code: number, message: string, data?: unknown) {
    super(message)
    this.code = code
    this.data = data
  }
}

export const rpcErrorCode = {
  parse: -32_700,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internal: -32_603,
  preflightFailed: -32_002,
  signatureInvalid: -32_003,
  versionUnsupported: -32_015
} as const

/** Only a failed instruction is recorded on the chain and pays its fee; other failures leave no trace. */
export const isLandedFault = (fault: SolanaFault): boolean => typeof fault !== "string"

export const faultOf = (failed: FailedTransactionMetadata): SolanaFault => {
  const error = failed.err()
  if (typeof error === "number") return transactionFaults[error] ?? `Error${error}`
  if ("accountIndex" in error) return { InsufficientFundsForRent: { account_index: error.accountIndex } }
  if (!("err" in error)) return { DuplicateInstruction: error.index }
  const reason = error.err()
  if (typeof reason === "number")
    return { InstructionError: [error.index, instructionFaults[reason] ?? `Error${reason}`] }
  return { InstructionError: [error.index, "code" in reason ? { Custom: reason.code } : { BorshIoError: reason.msg }] }
}

// In the order of LiteSVM's numbers.
const transactionFaults = (
  "AccountInUse AccountLoadedTwice AccountNotFound ProgramAccountNotFound InsufficientFundsForFee " +
  "InvalidAccountForFee AlreadyProcessed BlockhashNotFound CallChainTooDeep MissingSignatureForFee " +
  "InvalidAccountIndex SignatureFailure InvalidProgramForExecution SanitizeFailure ClusterMaintenance " +
  "AccountBorrowOutstanding WouldExceedMaxBlockCostLimit UnsupportedVersion InvalidWritableAccount " +
  "WouldExceedMaxAccountCostLimit WouldExceedAccountDataBlockLimit TooManyAccountLocks " +
  "AddressLookupTableNotFound InvalidAddressLookupTableOwner InvalidAddressLookupTableData " +
  "InvalidAddressLookupTableIndex InvalidRentPayingAccount WouldExceedMaxVoteCostLimit " +
  "WouldExceedAccountDataTotalLimit MaxLoadedAccountsDataSizeExceeded ResanitizationNeeded " +
  "InvalidLoadedAccountsDataSizeLimit UnbalancedTransaction ProgramCacheHitMaxLimit CommitCancelled"
).split(" ")

const instructionFaults = (
  "GenericError InvalidArgument InvalidInstructionData InvalidAccountData AccountDataTooSmall InsufficientFunds " +
  "IncorrectProgramId MissingRequiredSignature AccountAlreadyInitialized UninitializedAccount " +
  "UnbalancedInstruction ModifiedProgramId ExternalAccountLamportSpend ExternalAccountDataModified " +
  "ReadonlyLamportChange ReadonlyDataModified DuplicateAccountIndex ExecutableModified RentEpochModified " +
  "NotEnoughAccountKeys AccountDataSizeChanged AccountNotExecutable AccountBorrowFailed " +
  "AccountBorrowOutstanding DuplicateAccountOutOfSync InvalidError ExecutableDataModified " +
  "ExecutableLamportChange ExecutableAccountNotRentExempt UnsupportedProgramId CallDepth MissingAccount " +
  "ReentrancyNotAllowed MaxSeedLengthExceeded InvalidSeeds InvalidRealloc ComputationalBudgetExceeded " +
  "PrivilegeEscalation ProgramEnvironmentSetupFailure ProgramFailedToComplete ProgramFailedToCompile " +
  "Immutable IncorrectAuthority AccountNotRentExempt InvalidAccountOwner ArithmeticOverflow UnsupportedSysvar " +
  "IllegalOwner MaxAccountsDataAllocationsExceeded MaxAccountsExceeded MaxInstructionTraceLengthExceeded " +
  "BuiltinProgramsMustConsumeComputeUnits BorshIoError"
).split(" ")

/**
 * The JSON-RPC methods of a Solana node that payment clients and services call, over a ledger. Commitments work as on
 * a real node: the default for history is "finalized". Unknown methods and encodings are refused.
 */
import {
  type Address,
  getBase58Decoder,
  getBase58Encoder,
  getBase64Decoder,
  getBase64Encoder,
  isAddress
} from "@solana/kit"
import { TOKEN_PROGRAM_ADDRESS } from "@solana-program/token"
import { rpcErrorCode, SolanaRpcError } from "./SolanaFault.ts"
import {
  type Balance,
  blockhashSlotsMax,
  type Commitment,
  type LandedTransaction,
  type SolanaLedger
} from "./SolanaLedger.ts"
import { holdingOf, uiTokenAmount } from "./SolanaTokens.ts"
import { readTransaction, type SolanaTransaction } from "./SolanaTransaction.ts"
import type { SolanaAccount } from "./SolanaVm.ts"

export type SolanaCluster = "devnet" | "mainnet"

export type RpcHandler = (method: string, params: ReadonlyArray<unknown>) => unknown

type Config = Readonly<Record<string, unknown>>

const genesisHashes: Readonly<Record<SolanaCluster, string>> = {
  devnet: "EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG",
  mainnet: "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d"
}

const slotsInEpoch = 432_000
const signaturesMax = 1_000

/** Throws `SolanaRpcError`. Answers may hold bigints, which go over the wire as numbers. */
export const solanaRpc = (ledger: SolanaLedger, cluster: SolanaCluster): RpcHandler => {
  const methods = { ...chainMethods(ledger, cluster), ...accountMethods(ledger), ...transactionMethods(ledger) }
  return (method, params) => {
    const answer = Object.hasOwn(methods, method) ? methods[method] : undefined
    if (answer === undefined) throw new SolanaRpcError(rpcErrorCode.methodNotFound, `Method not found: ${method}`)
    return answer(params)
  }
}

type Methods = Readonly<Record<string, (params: ReadonlyArray<unknown>) => unknown>>

const chainMethods = (ledger: SolanaLedger, cluster: SolanaCluster): Methods => ({
  getHealth: () => "ok",
  getVersion: () => ({ "solana-core": "3.0.0-litesvm", "feature-set": 1 }),
  getGenesisHash: () => genesisHashes[cluster],
  getSlot: () => ledger.slot,
  getBlockHeight: () => ledger.slot,
  getEpochInfo: () => ({
    absoluteSlot: ledger.slot,
    blockHeight: ledger.slot,
    epoch: ledger.slot / BigInt(slotsInEpoch),
    slotIndex: ledger.slot % BigInt(slotsInEpoch),
    slotsInEpoch
  }),
  getLatestBlockhash: () => inContext(ledger, newestBlockhash(ledger)),
  isBlockhashValid: (params) => inContext(ledger, ledger.isBlockhashValid(textAt(params, 0)))
})

const accountMethods = (ledger: SolanaLedger): Methods => {
  const account = (address: string, config: Config): unknown => {
    const found = ledger.vm.account(addressOf(address))
    return found === undefined ? null : accountView(ledger, found, config["encoding"] ?? "base58")
  }
  return {
    getBalance: (params) => inContext(ledger, ledger.vm.account(addressOf(textAt(params, 0)))?.lamports ?? 0n),
    getMinimumBalanceForRentExemption: (params) => ledger.vm.rentExemption(Number(params[0])),
    getAccountInfo: (params) => inContext(ledger, account(textAt(params, 0), configAt(params, 1))),
    getMultipleAccounts: (params) => {
      const config = configAt(params, 1)
      return inContext(
        ledger,
        textsAt(params, 0).map((address) => account(address, config))
      )
    },
    getTokenAccountBalance: (params) => {
      const holding = holdingOf(ledger.vm, ledger.vm.account(addressOf(textAt(params, 0))))
      if (holding === undefined) throw invalid("could not find account")
      return inContext(ledger, uiTokenAmount(holding))
    }
  }
}

const transactionMethods = (ledger: SolanaLedger): Methods => ({
  simulateTransaction: (params) => {
    const config = configAt(params, 1)
    const replaces = config["replaceRecentBlockhash"] === true
    const verifies = config["sigVerify"] === true
    if (replaces && verifies) throw invalid("sigVerify may not be used with replaceRecentBlockhash")
    const { fault, logs, unitsConsumed } = ledger.simulate(transactionAt(params, config), verifies, replaces)
    return inContext(ledger, {
      err: fault ?? null,
      logs,
      unitsConsumed,
      accounts: null,
      returnData: null,
      ...(replaces ? { replacementBlockhash: newestBlockhash(ledger) } : {})
    })
  },
  sendTransaction: (params) => {
    const config = configAt(params, 1)
    return ledger.send(transactionAt(params, config), config["skipPreflight"] === true)
  },
  getSignatureStatuses: (params) => {
    const statuses = textsAt(params, 0).map((signature) => {
      const found = ledger.transaction(signature, "processed")
      return found === undefined ? null : statusView(ledger, found)
    })
    return inContext(ledger, statuses)
  },
  getTransaction: (params) => {
    const config = configAt(params, 1)
    const found = ledger.transaction(textAt(params, 0), commitmentIn(config))
    return found === undefined ? null : transactionView(found, config)
  },
  getSignaturesForAddress: (params) => {
    const config = configAt(params, 1)
    const all = ledger.transactionsOf(textAt(params, 0), commitmentIn(config))
    const from = all.findIndex(({ signature }) => signature === config["before"]) + 1
    const until = all.findIndex(({ signature }) => signature === config["until"])
    const limit = Math.min(Number(config["limit"] ?? signaturesMax), signaturesMax)
    return all
      .slice(from, until < 0 ? undefined : until)
      .slice(0, limit)
      .map((one) => ({
        signature: one.signature,
        slot: one.slot,
        err: one.execution.fault ?? null,
        memo: null,
        blockTime: blockTime(one),
        confirmationStatus: ledger.commitmentOf(one)
      }))
  }
})

/** The commitment asked for; the default of nodes is "finalized". */
export const commitmentIn = (config: Config): Commitment => {
  const { commitment = "finalized" } = config
  if (commitment === "processed" || commitment === "confirmed" || commitment === "finalized") return commitment
  throw invalid(`unknown commitment ${String(commitment)}`)
}

export const configAt = (params: ReadonlyArray<unknown>, index: number): Config => {
  const config = params[index] ?? {}
  if (typeof config !== "object") throw invalid(`parameter ${index} is no object`)
  return config as Config
}

export const textAt = (params: ReadonlyArray<unknown>, index: number): string => {
  const text = params[index]
  if (typeof text !== "string") throw invalid(`parameter ${index} is no text`)
  return text
}

const textsAt = (params: ReadonlyArray<unknown>, index: number): ReadonlyArray<string> => {
  const texts = params[index]
  if (!Array.isArray(texts)) throw invalid(`parameter ${index} is no list`)
  return texts.map((_, at) => textAt(texts, at))
}

const addressOf = (text: string): Address => {
  if (!isAddress(text)) throw invalid(`${text} is no address`)
  return text
}

const transactionAt = (params: ReadonlyArray<unknown>, { encoding = "base58" }: Config): SolanaTransaction => {
  const text = textAt(params, 0)
  if (encoding === "base64") return readTransaction(new Uint8Array(getBase64Encoder().encode(text)))
  if (encoding === "base58") return readTransaction(new Uint8Array(getBase58Encoder().encode(text)))
  throw invalid(`unsupported encoding ${String(encoding)}`)
}

const invalid = (reason: string): SolanaRpcError =>
  new SolanaRpcError(rpcErrorCode.invalidParams, `Invalid param: ${reason}`)

const inContext = (ledger: SolanaLedger, value: unknown) => ({
  context: { slot: ledger.slot, apiVersion: "3.0.0" },
  value
})

const newestBlockhash = ({ blockhash, slot }: SolanaLedger) => ({
  blockhash,
  lastValidBlockHeight: slot + blockhashSlotsMax
})

const encodedBytes = (bytes: Uint8Array, encoding: unknown): readonly [string, string] => {
  if (encoding === "base64") return [getBase64Decoder().decode(bytes), encoding]
  if (encoding === "base58") return [getBase58Decoder().decode(bytes), encoding]
  throw invalid(`unsupported encoding ${String(encoding)}`)
}

const accountView = (ledger: SolanaLedger, account: SolanaAccount, encoding: unknown): unknown => ({
  executable: account.isExecutable,
  lamports: account.lamports,
  owner: account.programAddress,
  rentEpoch: 0,
  space: account.data.length,
  // Like real nodes, falls back to bytes if it cannot parse the data.
  data:
    (encoding === "jsonParsed" ? parsedTokenAccount(ledger, account) : undefined) ??
    encodedBytes(account.data, encoding === "jsonParsed" ? "base64" : encoding)
})

const parsedTokenAccount = (ledger: SolanaLedger, account: SolanaAccount): unknown => {
  const holding = holdingOf(ledger.vm, account)
  if (holding === undefined) return undefined
  const { mint, owner } = holding
  const info = { mint, owner, state: "initialized", isNative: false, tokenAmount: uiTokenAmount(holding) }
  return { program: "spl-token", space: account.data.length, parsed: { type: "account", info } }
}

const statusView = (ledger: SolanaLedger, transaction: LandedTransaction): unknown => {
  const commitment = ledger.commitmentOf(transaction)
  return {
    slot: transaction.slot,
    confirmations: commitment === "finalized" ? null : ledger.slot - transaction.slot,
    err: transaction.execution.fault ?? null,
    status: resultView(transaction),
    confirmationStatus: commitment
  }
}

const transactionView = (transaction: LandedTransaction, config: Config): unknown => {
  const { encoding = "json", maxSupportedTransactionVersion } = config
  const { version } = transaction.message
  if (version !== "legacy" && !(Number(maxSupportedTransactionVersion) >= version)) {
    const reason = `Transaction version (${version}) is not supported by the requesting client`
    throw new SolanaRpcError(rpcErrorCode.versionUnsupported, reason)
  }
  return {
    slot: transaction.slot,
    blockTime: blockTime(transaction),
    version,
    transaction: encoding === "json" ? messageView(transaction) : encodedBytes(transaction.wire, encoding),
    meta: metaView(transaction)
  }
}

const messageView = ({ message, transaction }: LandedTransaction): unknown => ({
  signatures: Object.values(transaction.signatures).map((bytes) => (bytes === null ? null : base58(bytes))),
  message: {
    accountKeys: message.staticAccounts,
    header: {
      numRequiredSignatures: message.header.numSignerAccounts,
      numReadonlySignedAccounts: message.header.numReadonlySignerAccounts,
      numReadonlyUnsignedAccounts: message.header.numReadonlyNonSignerAccounts
    },
    recentBlockhash: message.lifetimeToken,
    instructions: message.instructions.map(({ programAddressIndex, accountIndices = [], data }) => ({
      programIdIndex: programAddressIndex,
      accounts: accountIndices,
      data: data === undefined ? "" : base58(data)
    }))
  }
})

const metaView = (transaction: LandedTransaction): unknown => {
  const { before, after, execution } = transaction
  return {
    err: execution.fault ?? null,
    status: resultView(transaction),
    // Only the fee leaves the accounts of a transaction.
    fee: lamportsIn(before) - lamportsIn(after),
    preBalances: before.map(({ lamports }) => lamports),
    postBalances: after.map(({ lamports }) => lamports),
    preTokenBalances: before.flatMap(tokenBalanceView),
    postTokenBalances: after.flatMap(tokenBalanceView),
    logMessages: execution.logs,
    computeUnitsConsumed: execution.unitsConsumed,
    innerInstructions: null,
    loadedAddresses: { readonly: [], writable: [] },
    rewards: []
  }
}

const tokenBalanceView = ({ holding }: Balance, accountIndex: number): ReadonlyArray<unknown> => {
  if (holding === undefined) return []
  const { mint, owner } = holding
  return [{ accountIndex, mint, owner, programId: TOKEN_PROGRAM_ADDRESS, uiTokenAmount: uiTokenAmount(holding) }]
}

const lamportsIn = (balances: ReadonlyArray<Balance>): bigint =>
  balances.reduce((sum, { lamports }) => sum + lamports, 0n)

const resultView = ({ execution: { fault } }: LandedTransaction): unknown =>
  fault === undefined ? { Ok: null } : { Err: fault }

const blockTime = ({ landedAtMillis }: LandedTransaction): number => Math.floor(landedAtMillis / 1_000)

const base58 = (bytes: Parameters<ReturnType<typeof getBase58Decoder>["decode"]>[0]): string =>
  getBase58Decoder().decode(bytes)

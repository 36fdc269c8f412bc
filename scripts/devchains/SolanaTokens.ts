/** Accounts of the SPL Token program: USDC's mint, associated token accounts, and what they hold. */
import type { Address } from "@solana/kit"
import {
  AccountState,
  findAssociatedTokenPda,
  getMintDecoder,
  getMintEncoder,
  getMintSize,
  getTokenDecoder,
  getTokenEncoder,
  getTokenSize,
  TOKEN_PROGRAM_ADDRESS
} from "@solana-program/token"
import type { SolanaAccount, SolanaVm } from "./SolanaVm.ts"

export interface TokenHolding {
  readonly mint: Address
  readonly owner: Address
  readonly units: bigint
  readonly decimals: number
}

/** An amount as RPC answers write it. */
export interface UiTokenAmount {
  readonly amount: string
  readonly decimals: number
  readonly uiAmount: number
  readonly uiAmountString: string
}

export const usdcMints = {
  devnet: "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU" as Address,
  mainnet: "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v" as Address
} as const

const usdcDecimals = 6
const mintSupplyUnits = 10n ** 15n

export const tokenAccountAddress = async (owner: Address, mint: Address): Promise<Address> => {
  const [address] = await findAssociatedTokenPda({ owner, mint, tokenProgram: TOKEN_PROGRAM_ADDRESS })
  return address
}

export const usdcMintAccount = (vm: SolanaVm, address: Address, mintAuthority: Address): SolanaAccount => ({
  address,
  programAddress: TOKEN_PROGRAM_ADDRESS,
  lamports: vm.rentExemption(getMintSize()),
  data: new Uint8Array(
    getMintEncoder().encode({
      mintAuthority,
      supply: mintSupplyUnits,
      decimals: usdcDecimals,
      isInitialized: true,
      freezeAuthority: null
    })
  ),
  isExecutable: false
})

/** `address` is that of `tokenAccountAddress`. */
export const tokenAccount = (
  vm: SolanaVm,
  address: Address,
  { owner, mint, units }: Pick<TokenHolding, "owner" | "mint" | "units">
): SolanaAccount => ({
  address,
  programAddress: TOKEN_PROGRAM_ADDRESS,
  lamports: vm.rentExemption(getTokenSize()),
  data: new Uint8Array(
    getTokenEncoder().encode({
      mint,
      owner,
      amount: units,
      delegate: null,
      state: AccountState.Initialized,
      isNative: null,
      delegatedAmount: 0n,
      closeAuthority: null
    })
  ),
  isExecutable: false
})

/** Undefined if there is no token account. */
export const holdingOf = (vm: SolanaVm, account: SolanaAccount | undefined): TokenHolding | undefined => {
  if (account?.programAddress !== TOKEN_PROGRAM_ADDRESS || account.data.length !== getTokenSize()) return undefined
  const { mint, owner, amount } = getTokenDecoder().decode(account.data)
  const mintAccount = vm.account(mint)
  if (mintAccount === undefined) return undefined
  return { mint, owner, units: amount, decimals: getMintDecoder().decode(mintAccount.data).decimals }
}

export const uiTokenAmount = ({ units, decimals }: TokenHolding): UiTokenAmount => {
  const digits = String(units).padStart(decimals + 1, "0")
  const whole = digits.slice(0, digits.length - decimals)
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, "")
  const uiAmountString = fraction === "" ? whole : `${whole}.${fraction}`
  return { amount: String(units), decimals, uiAmount: Number(uiAmountString), uiAmountString }
}

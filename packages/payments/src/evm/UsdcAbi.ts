/**
 * ABI of Circle's FiatToken (versions 2 to 2.2) as far as payments use it: EIP-3009. The two overloads of
 * `transferWithAuthorization` are separate constants, because the name alone is ambiguous.
 */
import { parseAbi } from "viem"

export const usdcAbi = parseAbi([
  "function DOMAIN_SEPARATOR() view returns (bytes32)",
  "function balanceOf(address account) view returns (uint256)",
  "function authorizationState(address authorizer, bytes32 nonce) view returns (bool)"
])

/** In every version; v, r and s are the 65 bytes of the other overload. */
export const transferByParts = parseAbi([
  "function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)"
])

/** Since 2.2: for signatures of contract wallets that are longer than 65 bytes. */
export const transferByBytes = parseAbi([
  "function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)"
])

export const usdcEvents = parseAbi([
  "event Transfer(address indexed from, address indexed to, uint256 value)",
  "event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)",
  "event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce)"
])

/** ERC-1271. */
export const contractWalletAbi = parseAbi([
  "function isValidSignature(bytes32 hash, bytes signature) view returns (bytes4)"
])

/**
 * Grants (contract: Grants): the text that the grantor signs, and which grants of a request give the caller access now.
 *
 * Invariants: an unusable grant is skipped, never an error, and its reason is for logs and tests only; a payload with an
 * unknown member gives no access, because it may be a restriction; a grant is usable while its `e` is above the current
 * second.
 */
import { Clock, Effect } from "effect"
import type { Grant, GrantPayload } from "@muniment/domain/Grant"
import { traced } from "@muniment/domain/traced"
import type { Audience } from "./Audience.ts"
import { canonicalJson, sha256Hex } from "./CanonicalJson.ts"
import { SignatureVerifier } from "./SignatureVerifier.ts"
import { isSameAddress, parseWalletAddress, type WalletAddress } from "./WalletAddress.ts"
import type { WalletSigner } from "./WalletSigner.ts"

export type UnusableReason =
  | "unknown_payload_field"
  | "unknown_family"
  | "bad_grantor"
  | "expired"
  | "not_for_caller"
  | "self_grant"
  | "wrong_audience"
  | "revoked"
  | "bad_signature"

export type CheckedGrant =
  | {
      readonly _tag: "Usable"
      readonly grantId: string
      readonly grantor: WalletAddress
      readonly payload: GrantPayload
    }
  | { readonly _tag: "Unusable"; readonly reason: UnusableReason }

export interface GrantCheck {
  /** Every name of the caller: wallet address; key id, account id, linked addresses. */
  readonly identities: ReadonlyArray<string>
  /** Message prefixes by `grantPrefix`; the usual one first, because each further one may cost a verification. */
  readonly prefixes: ReadonlyArray<string>
  /** By `grantId`. */
  readonly isRevoked: (grantId: string) => boolean
  /** Of the service; one that requires itself refuses grants without an origin. */
  readonly audience: Pick<Audience, "isOwn" | "isRequired">
}

/** `<service>:grant:v1:` */
export const grantPrefix = (service: string): string => `${service}:grant:v1:`

/** Text signed by the grantor: the prefix and the standard Base64 of the canonical payload. */
export const grantMessage = (prefix: string, payload: GrantPayload): string =>
  prefix + Buffer.from(canonicalJson(payload)).toString("base64")

/** Id used by revocations: hex SHA-256 of the canonical payload. Throws `NotCanonical`. */
export const grantId = (payload: GrantPayload): string => sha256Hex(canonicalJson(payload))

export const signGrant = async (signer: WalletSigner, prefix: string, payload: GrantPayload): Promise<Grant> => ({
  p: payload,
  s: await signer.sign(grantMessage(prefix, payload)),
  c: signer.wallet.family
})

/** True if one of the identities made the grant, and so may revoke it. */
export const isGrantor = (payload: GrantPayload, identities: ReadonlyArray<string>): boolean =>
  isNamed(payload.f, identities)

/** In the order of `grants`, which come from `decodeGrantsHeader`: canonical and few. */
export const checkGrants = traced("Grant.checkGrants")(function* (grants: ReadonlyArray<Grant>, check: GrantCheck) {
  const nowSeconds = Math.floor((yield* Clock.currentTimeMillis) / 1_000)
  return yield* Effect.forEach(grants, (grant) => checkGrant(grant, check, nowSeconds))
})

const payloadFields = new Set(["f", "g", "e", "a", "u", "o", "h"])

/** The signature last, because everything else is cheap. */
const checkGrant = Effect.fnUntraced(function* (
  { c, p, s }: Grant,
  { audience, identities, isRevoked, prefixes }: GrantCheck,
  nowSeconds: number
): Effect.fn.Return<CheckedGrant, never, SignatureVerifier> {
  if (Object.keys(p).some((key) => !payloadFields.has(key))) return unusable("unknown_payload_field")
  if (c !== "evm" && c !== "sol") return unusable("unknown_family")
  const grantor = parseWalletAddress(p.f)
  if (grantor?.family !== c) return unusable("bad_grantor")
  if (p.e <= nowSeconds) return unusable("expired")
  if (p.o === undefined ? audience.isRequired : !audience.isOwn(p.o)) return unusable("wrong_audience")
  if (!isNamed(p.g, identities)) return unusable("not_for_caller")
  if (isGrantor(p, identities)) return unusable("self_grant")
  const id = grantId(p)
  if (isRevoked(id)) return unusable("revoked")

  const verifier = yield* SignatureVerifier
  for (const prefix of prefixes) {
    if (yield* verifier.verify({ wallet: grantor, message: grantMessage(prefix, p), signature: s })) {
      return { _tag: "Usable", grantId: id, grantor, payload: p }
    }
  }
  return unusable("bad_signature")
})

const isNamed = (name: string, identities: ReadonlyArray<string>): boolean =>
  identities.some((identity) => isSameAddress(identity, name))

const unusable = (reason: UnusableReason): CheckedGrant => ({ _tag: "Unusable", reason })

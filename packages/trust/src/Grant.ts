/**
 * Grants (contract: Grants): the text that the grantor signs, and which grants of a request give the caller access now.
 *
 * Invariants: an unusable grant is skipped with its reason, never an error; a payload with an unknown member gives no
 * access, because it may be a restriction; a grant is usable while its `e` is above the current second, and `e` is no
 * further ahead than anything may end.
 */
import { Clock, Effect } from "effect"
import { timeText, whyNoGrantExpiry } from "@muniment/domain/GivenTimes"
import type { Grant, GrantPayload, UnusableReason } from "@muniment/domain/Grant"
import { traced } from "@muniment/domain/traced"
import { canonicalJson, sha256Hex } from "./CanonicalJson.ts"
import { type Audience, SignatureVerifier } from "./SignatureVerifier.ts"
import { isSameAddress, parseWalletAddress, type WalletAddress } from "./WalletAddress.ts"
import type { WalletSigner } from "./WalletSigner.ts"

export type CheckedGrant =
  | {
      readonly _tag: "Usable"
      readonly grantId: string
      readonly grantor: WalletAddress
      readonly payload: GrantPayload
    }
  /** `why` says more than the reason where there is more to say. */
  | { readonly _tag: "Unusable"; readonly reason: UnusableReason; readonly why?: string | undefined }

interface GrantCheck {
  /** Every name of the caller: wallet address; key id, account id, linked addresses. */
  readonly identities: ReadonlyArray<string>
  /** Message prefixes by `grantPrefix`; the usual one first, because each further one may cost a verification. */
  readonly prefixes: ReadonlyArray<string>
  /** By `grantId`. */
  readonly isRevoked: (grantId: string) => boolean
  /** Audience of the service; one that requires itself refuses grants without an origin. */
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

/** In the order of `grants`, which come from `decodeGrantsHeader`: canonical and few; undefined is one that is none. */
export const checkGrants = traced("Grant.checkGrants")(function* (
  grants: ReadonlyArray<Grant | undefined>,
  check: GrantCheck
) {
  const nowMillis = yield* Clock.currentTimeMillis
  return yield* Effect.forEach(grants, (grant) =>
    grant === undefined ? Effect.succeed(unusable("malformed")) : checkGrant(grant, check, nowMillis)
  )
})

const payloadFields = new Set(["f", "g", "e", "a", "u", "o", "h"])

/** The signature last, because everything else is cheap. */
const checkGrant = Effect.fnUntraced(function* (
  { c, p, s }: Grant,
  { audience, identities, isRevoked, prefixes }: GrantCheck,
  nowMillis: number
): Effect.fn.Return<CheckedGrant, never, SignatureVerifier> {
  if (Object.keys(p).some((key) => !payloadFields.has(key))) return unusable("unknown_payload_field")
  if (c !== "evm" && c !== "sol") return unusable("unknown_family")
  const grantor = parseWalletAddress(p.f)
  if (grantor?.family !== c) return unusable("bad_grantor")
  if (p.e <= Math.floor(nowMillis / 1_000)) return unusable("expired", `it ended at ${timeText(p.e * 1_000)}`)
  const why = whyNoGrantExpiry(p.e, nowMillis)
  if (why !== undefined) return unusable("bad_expiry", `\`e\`: ${why}`)
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

const unusable = (reason: UnusableReason, why?: string): CheckedGrant => ({
  _tag: "Unusable",
  reason,
  ...(why !== undefined && { why })
})

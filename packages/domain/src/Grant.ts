/**
 * Grants (contract: Grants): a wallet's signed permission for another caller to search its memories. The signature covers
 * the canonical JSON of the payload.
 */
import { Schema } from "effect"

/**
 * `f` grantor, `g` grantee, `e` expiry in seconds; `a` and `u` narrow it to an agent and a subject, `o` to the service of
 * an origin (`scheme://host[:port]`); with `h` it opens superseded versions too.
 */
export const GrantPayload = Schema.Struct({
  f: Schema.NonEmptyString,
  g: Schema.NonEmptyString,
  e: Schema.Int,
  a: Schema.optionalKey(Schema.NonEmptyString),
  u: Schema.optionalKey(Schema.NonEmptyString),
  o: Schema.optionalKey(Schema.NonEmptyString),
  h: Schema.optionalKey(Schema.Boolean)
})
export type GrantPayload = typeof GrantPayload.Type

/** `c` names the chain family of the signature: `evm` (hex) or `sol` (base64); others are unusable. */
export const Grant = Schema.Struct({ p: GrantPayload, s: Schema.String, c: Schema.String })
export type Grant = typeof Grant.Type

const grantExample: Grant = {
  p: {
    f: "0x1563915e194d8cfba1943570603f7606a3115508",
    g: "0x5cbdd86a2fa8dc4bddd8a8f69dba48572eec07fb",
    e: 1_800_000_000,
    a: "assistant",
    u: "user-42"
  },
  s: `0x${"5a".repeat(64)}1b`,
  c: "evm"
}

/** Body of POST /grants/revoke. Only the payload is used; the signature is not checked. */
export const RevokeGrant = Schema.Struct({ grant: Grant }).annotate({ examples: [{ grant: grantExample }] })

export const unusableReasons = {
  malformed: "it is not {p: {f, g, e, a?, u?, o?, h?}, s, c}",
  unknown_payload_field: "its payload has a field that this service does not know, which may be a restriction",
  unknown_family: "`c`, the family of the signature, is neither evm nor sol",
  bad_grantor: "`f`, the grantor, is no address of the family that `c` names",
  bad_expiry: "`e` is not a time in seconds",
  expired: "it has ended: `e` is in the past",
  not_for_caller: "`g`, the grantee, is not the caller",
  self_grant: "it is by the caller, who needs no grant",
  wrong_audience: "it does not name this service in `o`",
  revoked: "its grantor has revoked it",
  bad_signature:
    "its signature is not one of the grantor over this payload: it was altered, or signed for another service",
  bound_key: "the key of this request is bound to agents or subjects, and opens no grants",
  no_account: "its grantor has no account here that can be searched"
} as const
export type UnusableReason = keyof typeof unusableReasons

/** Why a grant of a request opened nothing (contract: Grants). */
export const UnusableGrant = Schema.Struct({
  index: Schema.Int.annotate({ description: "Its place in `X-Grants`, from 0." }),
  grantor: Schema.optionalKey(Schema.String.annotate({ description: "As the grant spells it." })),
  reason: Schema.Literals(Object.keys(unusableReasons) as ReadonlyArray<UnusableReason>),
  message: Schema.String
})
export type UnusableGrant = typeof UnusableGrant.Type

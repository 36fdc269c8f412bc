/** Why a grant of a request opened nothing (contract: Grants). */
import { Schema } from "effect"

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

export const UnusableGrant = Schema.Struct({
  index: Schema.Int.annotate({ description: "Its place in `X-Grants`, from 0." }),
  grantor: Schema.optionalKey(Schema.String.annotate({ description: "As the grant spells it." })),
  reason: Schema.Literals(Object.keys(unusableReasons) as ReadonlyArray<UnusableReason>),
  message: Schema.String
})
export type UnusableGrant = typeof UnusableGrant.Type

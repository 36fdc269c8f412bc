/**
 * Grants: what a wallet signs to let another search its memories (specification section 2.5,
 * interface.md section 8). The signature covers the canonical JSON of the payload.
 */
import { Schema } from "effect"

/** `f` grantor, `g` grantee, `e` expiry in seconds; `a` and `u` narrow it to an agent and a subject. */
export const GrantPayload = Schema.Struct({
  f: Schema.NonEmptyString,
  g: Schema.NonEmptyString,
  e: Schema.Int,
  a: Schema.optionalKey(Schema.NonEmptyString),
  u: Schema.optionalKey(Schema.NonEmptyString)
})
export type GrantPayload = typeof GrantPayload.Type

/** `c` names the chain family of the signature: `evm` (hex) or `sol` (base64); others are unusable. */
export const Grant = Schema.Struct({ p: GrantPayload, s: Schema.String, c: Schema.String })
export type Grant = typeof Grant.Type

/** Body of POST /grants/revoke. */
export const RevokeGrant = Schema.Struct({ grant: Grant })

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

/** Settings of the sign-in by OpenID Connect, apart from it: a start that fails reads no more. */
import type { Redacted } from "effect"
import { OperatorRole } from "@muniment/domain/Operator"

/** A claim that gives a role; of a list one item has to be the value. */
export interface OpenIdRule {
  readonly claim: string
  readonly value: string
  readonly role: OperatorRole
}

/** `claim=value:role`; undefined: it is none. */
export const openIdRule = (text: string): OpenIdRule | undefined => {
  const [, claim, value, role] = /^([^=\s]+)=(.+):([a-z]+)$/u.exec(text) ?? []
  const known = OperatorRole.literals.find((literal) => literal === role)
  return claim === undefined || value === undefined || known === undefined ? undefined : { claim, value, role: known }
}

export interface OpenIdSettings {
  readonly issuer: string
  readonly clientId: string
  /** Undefined: a public client. */
  readonly clientSecret: Redacted.Redacted | undefined
  readonly scope: string
  readonly rules: ReadonlyArray<OpenIdRule>
}

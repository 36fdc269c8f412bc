/**
 * Operators of the service and their roles (contract: Operator routes). The data directory's token is the first operator,
 * with every right; others are added under a name, each with a secret of its own.
 */
import { Schema } from "effect"
import { Limits } from "./Limits.ts"

/**
 * Each role may do what those before it may. `viewer`: look at everything, change nothing; `maintainer`: all but money and
 * operators; `admin`: all.
 */
export const OperatorRole = Schema.Literals(["viewer", "maintainer", "admin"])
export type OperatorRole = typeof OperatorRole.Type

/** Who acts: as the audit log names them. */
export interface Operator {
  readonly name: string
  readonly role: OperatorRole
}

/** The holder of the data directory's token. */
export const firstOperator = { name: "operator", role: "admin" } as const satisfies Operator

/** Begins the names of those whom an OpenID Connect provider vouches for; no added one has a colon. */
export const openIdPrefix = "oidc:"

/** Whether an operator of this name is a row of `control.db`: added, and revocable. */
export const isAdded = (name: string): boolean => name !== firstOperator.name && !name.startsWith(openIdPrefix)

/** ASCII without spaces: two different names look different. */
export const OperatorName = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9][A-Za-z0-9._@+-]*$/u, {
    expected: "letters, digits and . _ @ + -, a letter or digit first"
  }),
  Schema.isMaxLength(Limits.operatorNameLengthMax)
).annotate({ examples: ["alice"] })

/** An operator without the secret. Times in milliseconds. */
export const OperatorRecord = Schema.Struct({
  name: Schema.String,
  role: OperatorRole,
  prefix: Schema.String.annotate({ description: "How the secret begins." }),
  createdAt: Schema.Int,
  madeBy: Schema.String.annotate({ description: "Name of the operator who added this one." }),
  lastUsedAt: Schema.optionalKey(Schema.Int),
  revokedAt: Schema.optionalKey(Schema.Int)
})
export type OperatorRecord = typeof OperatorRecord.Type

/** Of who is signed in, as pages show it. */
export const SignedInOperator = Schema.Struct({ name: Schema.String, role: OperatorRole })

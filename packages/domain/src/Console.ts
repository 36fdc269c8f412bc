/**
 * Sessions of the console (contract: Console): a browser that signed in as an operator, with a one-time link or a secret,
 * or with an API key as its account.
 */
import { Schema } from "effect"
import { Limits } from "./Limits.ts"
import { SignedInOperator } from "./Operator.ts"

const SessionRole = Schema.Literals(["operator", "account"])
type SessionRole = typeof SessionRole.Type

/** A session without its secrets. Times in milliseconds. */
export const SessionRecord = Schema.Struct({
  id: Schema.String,
  role: SessionRole,
  account: Schema.NullOr(Schema.String).annotate({ description: "Name of the account; null: an operator's." }),
  operator: Schema.NullOr(SignedInOperator).annotate({ description: "Null: an account's." }),
  /** Address and browser, as the sign-in came. */
  address: Schema.String,
  browser: Schema.String,
  createdAt: Schema.Int,
  lastUsedAt: Schema.Int,
  expiresAt: Schema.Int
})
export type SessionRecord = typeof SessionRecord.Type

/** Facts about a page's own session. */
export const OwnSession = Schema.Struct({
  id: Schema.String.annotate({ description: "As in the list of sessions." }),
  role: SessionRole,
  account: Schema.NullOr(Schema.String),
  operator: Schema.NullOr(SignedInOperator),
  expiresAt: Schema.Int,
  refused: Schema.Array(Schema.String).annotate({
    description: "Operator routes that the operator's role does not allow, as `accounts.erase`."
  }),
  readOnly: Schema.Boolean.annotate({ description: "A viewer, or a key that may change nothing." }),
  isBound: Schema.Boolean.annotate({ description: "A key of some agents or subjects, not of the whole account." }),
  csrf: Schema.String.annotate({ description: "Sent as `x-csrf-token` with every request that changes something." })
})
export type OwnSession = typeof OwnSession.Type

/** A link that signs the operator in who made it, once. */
export const ConsoleLink = Schema.Struct({
  url: Schema.String,
  expiresAt: Schema.Int
})

const Secret = Schema.NonEmptyString.check(Schema.isMaxCodePoints(Limits.consoleSecretLengthMax))

/** Exactly one of both. */
export const SignIn = Schema.Union([
  Schema.Struct({ link: Secret.annotate({ description: "What follows `#link=` in the address of a one-time link." }) }),
  Schema.Struct({ key: Secret.annotate({ description: "An API key, or an operator's secret." }) })
])

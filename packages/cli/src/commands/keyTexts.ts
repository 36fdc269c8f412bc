/** Keys on the terminal, and the flags that restrict a new one. */
import { Array, Option } from "effect"
import { Flag } from "effect/cli"
import type { KeyRecord } from "@muniment/domain/api/AdminApi"
import { table, timeText } from "../Table.ts"

export const restrictionFlags = {
  label: Flag.String("label").pipe(Flag.withDescription("What the key is for"), Flag.optional),
  readOnly: Flag.Boolean("read-only").pipe(Flag.withDescription("The key only reads"), Flag.withDefault(false)),
  agents: Flag.String("agent").pipe(
    Flag.withDescription("Agent that the key is bound to; may be given again"),
    Flag.atLeast(0)
  ),
  subjects: Flag.String("subject").pipe(
    Flag.withDescription("Subject that the key is bound to; may be given again"),
    Flag.atLeast(0)
  ),
  expires: Flag.String("expires").pipe(Flag.withDescription("How long the key works, as in 30d"), Flag.optional)
}

/** The restrictions that were given, as requests name them. */
export const restrictionsOf = ({ agents, expires, label, readOnly, subjects }: KeyRestrictions) => ({
  ...given("label", label),
  ...(readOnly && { readOnly }),
  ...(Array.isReadonlyArrayNonEmpty(agents) && { agents }),
  ...(Array.isReadonlyArrayNonEmpty(subjects) && { subjects }),
  ...given("expiresIn", expires)
})

interface KeyRestrictions {
  readonly label: Option.Option<string>
  readonly readOnly: boolean
  readonly agents: ReadonlyArray<string>
  readonly subjects: ReadonlyArray<string>
  readonly expires: Option.Option<string>
}

export const keepMadeFlag = Flag.Boolean("keep-made").pipe(
  Flag.withDescription("Keys that this one made stay; without, they are revoked with it"),
  Flag.withDefault(false)
)

/** What a revocation did, for people. */
export const revocationText = (key: KeyRecord, alsoRevoked: ReadonlyArray<string>): string =>
  [
    `Key ${key.id} of account ${key.account} is revoked.`,
    ...alsoRevoked.map((id) => `With it, since it was made by it or by one that it made: ${id}`)
  ].join("\n")

export const keysText = (keys: ReadonlyArray<KeyRecord>): string =>
  keys.length === 0 ? "No keys." : table([keyHeading, ...keys.map(keyRow)])

const keyHeading = ["ID", "ACCOUNT", "KEY", "CREATED", "LAST USED", "STATE", "MAY", "MADE BY", "LABEL"]

const keyRow = (key: KeyRecord): ReadonlyArray<string> => [
  key.id,
  key.account,
  `${key.prefix}…`,
  timeText(key.createdAt),
  timeText(key.lastUsedAt),
  stateOf(key),
  mayText(key),
  key.madeBy ?? "operator",
  key.label
]

const stateOf = ({ expiresAt, revokedAt }: KeyRecord): string => {
  if (revokedAt !== undefined) return `revoked ${timeText(revokedAt)}`
  return expiresAt === undefined ? "active" : `until ${timeText(expiresAt)}`
}

const mayText = ({ agents, readOnly, subjects }: KeyRecord): string =>
  [
    readOnly === true ? "read" : "all",
    ...(agents === undefined ? [] : [`agents ${agents.join(", ")}`]),
    ...(subjects === undefined ? [] : [`subjects ${subjects.join(", ")}`])
  ].join("; ")

/** `{name: value}` when the flag was given, else nothing. */
export const given = <const Name extends string, Value>(
  name: Name,
  value: Option.Option<Value>
): { readonly [Key in Name]?: Value } =>
  Option.isSome(value) ? ({ [name]: value.value } as { [Key in Name]: Value }) : {}

/**
 * `muniment attest`: verify attestations offline, and rotate the key that signs them. Verification needs
 * no service; the key file of the issuer may lie on the disk or be fetched.
 */
import { Clock, Console, Effect, Option, Result, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { type VerificationKey, verificationKeys } from "@muniment/trust/Attestation"
import type { Statement } from "../AttestationFile.ts"
import { CommandFailed } from "../CommandFailed.ts"
import { readInput, textOf, readUrl, pathArgument, pathFlag } from "../InputFile.ts"
import { table, timeText } from "../Terminal.ts"
import { flags } from "./flags.ts"
import { withOperator } from "./clients.ts"

const verify = Command.make(
  "verify",
  {
    file: pathArgument("file", "Answer of POST /attestations or of a shared search, as JSON; - is standard input"),
    keys: pathFlag("keys", "Key file of the issuer (file or URL), or a public key as 0x hex").pipe(Flag.optional),
    json: flags.json
  },
  Effect.fn("attest.verify")(function* ({ file, keys, json }) {
    const { statementsOf, verdictOf } = yield* Effect.promise(() => import("../AttestationFile.ts"))
    const statements = statementsOf(yield* textOf(yield* readInput(file), file))
    if (Result.isFailure(statements)) return yield* failed(`${file} cannot be verified: ${statements.failure}.`)
    const published = Option.isSome(keys) ? yield* readPublishedKeys(keys.value) : undefined
    if (published === undefined) yield* warnOfOwnKey(statements.success)
    const nowSeconds = (yield* Clock.currentTimeMillis) / 1_000
    const verdicts = statements.success.map((statement) =>
      verdictOf(statement, published ?? ownKeys(statement), nowSeconds)
    )
    yield* Console.log(
      json
        ? JSON.stringify({ valid: verdicts.every(({ valid }) => valid), statements: verdicts })
        : verdicts.map(({ text, valid }) => `${valid ? "valid" : "INVALID"}: ${text}`).join("\n")
    )
    if (!verdicts.every(({ valid }) => valid)) return yield* failed("Not to be trusted.")
  })
).pipe(
  Command.withDescription("Verify attestations offline; exit code 1 when one is invalid"),
  Command.withExamples([
    {
      command: "muniment attest verify answer.json --keys https://memory.example/.well-known/muniment-keys.json",
      description: "By the published key"
    }
  ])
)

const rotate = Command.make(
  "rotate",
  { json: flags.json },
  Effect.fn("attest.keys.rotate")(function* ({ json }) {
    const { success: _, ...keys } = yield* withOperator(({ admin }) => admin.rotateAttestationKey())
    if (json) return yield* Console.log(JSON.stringify(keys))
    return yield* Console.log(
      [
        `Attestations are signed by ${keys.attestationPublicKey} from now on.`,
        `Earlier keys that stay published: ${keys.previousKeys.length}, the last retired ${timeText(keys.previousKeys[0]?.retiredAt)} UTC.`
      ].join("\n")
    )
  })
).pipe(Command.withDescription("Sign with a new key; what the earlier ones signed still verifies"))

const list = Command.make(
  "list",
  { json: flags.json },
  Effect.fn("attest.keys.list")(function* ({ json }) {
    const { success: _, ...keys } = yield* withOperator(({ admin }) => admin.listAttestationKeys())
    if (json) return yield* Console.log(JSON.stringify(keys))
    return yield* Console.log(
      table([
        ["KEY", "SINCE", "RETIRED", "REVOKED"],
        [keys.attestationPublicKey, timeText(keys.issuedAt), "-", "-"],
        ...keys.previousKeys.map(({ issuedAt, publicKey, retiredAt, revokedAt }) => [
          publicKey,
          timeText(issuedAt),
          timeText(retiredAt),
          timeText(revokedAt)
        ])
      ])
    )
  })
).pipe(Command.withDescription("The keys that sign and signed attestations, the current one first; times in UTC"))

const revoke = Command.make(
  "revoke",
  {
    key: Argument.String("key").pipe(
      Argument.withDescription("The public key, 0x and 64 hex digits, as `list` shows it")
    ),
    json: flags.json
  },
  Effect.fn("attest.keys.revoke")(function* ({ json, key }) {
    const { success: _, ...keys } = yield* withOperator(({ admin }) =>
      admin.revokeAttestationKey({ payload: { publicKey: key } })
    )
    if (json) return yield* Console.log(JSON.stringify(keys))
    return yield* Console.log(
      [
        `Nothing that ${key} signed is valid any more.`,
        `Attestations are signed by ${keys.attestationPublicKey}.`,
        "Verifiers that keep the key file learn of it within an hour."
      ].join("\n")
    )
  })
).pipe(
  Command.withDescription(
    "For a secret that others may know: what the key signed is no longer valid, whatever its date"
  ),
  Command.withExamples([
    { command: "muniment attest keys revoke 0x...", description: "The current key is replaced by a new one first" }
  ])
)

const keyRing = Command.make("keys").pipe(
  Command.withDescription("The keys that sign attestations"),
  Command.withSubcommands([list, rotate, revoke])
)

export const attest = Command.make("attest").pipe(
  Command.withDescription("Attestations"),
  Command.withSubcommands([verify, keyRing])
)

const ownKeys = ({ publicKey }: Statement): ReadonlyArray<VerificationKey> =>
  publicKey === undefined ? [] : [{ publicKey }]

const warnOfOwnKey = (statements: ReadonlyArray<Statement>) =>
  statements.some((statement) => ownKeys(statement).length === 0)
    ? failed("The file names no key: give the issuer's key file with --keys.")
    : Console.error(
        "! Checked by the key in the file itself, which anyone could have put there; --keys says whose it is."
      )

const failed = (reason: string) => new CommandFailed({ reason })

const keyPattern = /^0x[0-9a-f]{64}$/
const urlPattern = /^https?:\/\//

const KeyFileContent = Schema.fromJsonString(
  Schema.Struct({
    attestationPublicKey: Schema.String,
    algorithm: Schema.Literal("Ed25519"),
    previousKeys: Schema.optionalKey(
      Schema.Array(
        Schema.Struct({
          publicKey: Schema.String,
          retiredAt: Schema.optionalKey(Schema.Int),
          revokedAt: Schema.optionalKey(Schema.Int)
        })
      )
    )
  })
)

/**
 * Public keys for the verification of attestations: from a service's key file, from its URL, or one key given directly.
 * Earlier keys in the file come with their ends.
 *
 * `source` is a key in hex, a URL, or a file; `-` is standard input.
 */
const readPublishedKeys = Effect.fnUntraced(function* (source: string) {
  if (keyPattern.test(source)) return [{ publicKey: source }] satisfies ReadonlyArray<VerificationKey>
  const bytes = yield* urlPattern.test(source) ? readUrl(source) : readInput(source)
  const published = yield* Schema.decodeUnknownEffect(KeyFileContent)(yield* textOf(bytes, source)).pipe(
    Effect.mapError(() => new CommandFailed({ reason: `${source} is not a key file of a service` }))
  )
  return verificationKeys(published)
})

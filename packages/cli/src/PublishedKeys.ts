/**
 * Public keys for the verification of attestations: from a service's key file, from its URL, or one key given directly.
 * Earlier keys in the file come with their ends.
 */
import { Effect, Schema } from "effect"
import { type VerificationKey, verificationKeys } from "@muniment/trust/Attestation"
import { CommandFailed } from "./CommandFailed.ts"
import { readInput, readUrl, textOf } from "./InputFile.ts"

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

/** `source` is a key in hex, a URL, or a file; `-` is standard input. */
export const readPublishedKeys = Effect.fnUntraced(function* (source: string) {
  if (keyPattern.test(source)) return [{ publicKey: source }] satisfies ReadonlyArray<VerificationKey>
  const bytes = yield* urlPattern.test(source) ? readUrl(source) : readInput(source)
  const published = yield* Schema.decodeUnknownEffect(KeyFileContent)(yield* textOf(bytes, source)).pipe(
    Effect.mapError(() => new CommandFailed({ reason: `${source} is not a key file of a service` }))
  )
  return verificationKeys(published)
})

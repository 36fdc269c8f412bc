/**
 * Signing keys of attestations, and the key that seals secrets in `control.db`: `<dataDirectory>/attestation-keys.json`,
 * readable by its owner only.
 *
 * Invariants: concurrent starts create the file once, complete and synced; an unreadable or inconsistent file stops the
 * start and is never replaced by a new key, which would invalidate every attestation made; a rotation keeps the public
 * halves of earlier keys published and drops their secrets. A retired key's attestations stay valid if they were made
 * before its end; nothing by a revoked key counts, because a thief of its secret chooses the dates of what they sign.
 */
import { Clock, Context, Effect, Layer, Redacted, Schema, Semaphore } from "effect"
import { SecureRandom } from "effect/crypto"
import { chmodSync, existsSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { createCipheriv, createDecipheriv, createHash } from "node:crypto"
import type { Attestation } from "@muniment/domain/Attestation"
import { attestationAlgorithm, bytesOf, hexOf, signAttestation, type SignedAttestation } from "./Attestation.ts"
import { didKeyOf, ed25519KeyBytes, ed25519PublicKey, type JwsKey, signJws } from "./Ed25519.ts"
import { createPrivateFile, replacePrivateFile } from "./PrivateFile.ts"

export const keyFileName = "attestation-keys.json"
/** The newest are kept; an attestation is valid for at most 365 days, so rotate less often than every third day. */
export const previousKeysMax = 128

/** The published key file (contract: Attestations); `issuedAt` in milliseconds. */
interface PublishedKeys {
  readonly attestationPublicKey: string
  readonly algorithm: typeof attestationAlgorithm
  readonly issuedAt: number
  /** Keys of earlier attestations, newest first. */
  readonly previousKeys: ReadonlyArray<PreviousKey>
}

const PreviousKey = Schema.Struct({
  publicKey: Schema.String,
  issuedAt: Schema.Int,
  retiredAt: Schema.Int,
  revokedAt: Schema.optionalKey(Schema.Int)
})
type PreviousKey = typeof PreviousKey.Type

/** Failure of the key file: `io` if the system refuses, `damaged` if its content is inconsistent. */
export class KeyFileFault extends Schema.TaggedError<KeyFileFault>()("KeyFileFault", {
  reason: Schema.Literals(["io", "damaged"]),
  path: Schema.String,
  cause: Schema.Defect()
}) {
  override get message(): string {
    const told = this.cause instanceof Error ? this.cause.message : String(this.cause)
    return `${this.path} (${this.reason}): ${told}; restore it from a backup, a new key would disown every attestation`
  }
}

export class KeyRing extends Context.Service<
  KeyRing,
  {
    /** By the current key. */
    readonly sign: (attestation: Attestation) => SignedAttestation & { readonly publicKey: string }
    /** JSON Web Signature of a payload by the current key. */
    readonly signJws: (payload: Readonly<Record<string, string | number>>) => string
    readonly publicKeys: () => PublishedKeys
    /** Key that seals secrets in `control.db` (`KeyRing.ts`); made at its first use, and never changed. */
    readonly sealing: Effect.Effect<Redacted.Redacted, KeyFileFault>
    /** Replaces the signing key. */
    readonly rotate: Effect.Effect<PublishedKeys, KeyFileFault>
    /** Marks a published key, `0x` hex, as not to be trusted; the signing key is replaced first. Undefined: not published. */
    readonly revoke: (publicKey: string) => Effect.Effect<PublishedKeys | undefined, KeyFileFault>
  }
>()("muniment/trust/KeyRing") {
  /** The directory must exist. `keep`: of several machines, where the text of the file lies before it counts. */
  static readonly layer = (dataDirectory: string, keep: (text: string) => Effect.Effect<void> = () => Effect.void) =>
    Layer.effect(
      KeyRing,
      Effect.gen(function* () {
        const random = yield* SecureRandom.SecureRandom
        const path = join(dataDirectory, keyFileName)
        const makeKey = Effect.gen(function* () {
          const seed = yield* random.randomBytes(ed25519KeyBytes)
          const issuedAt = yield* Clock.currentTimeMillis
          return { secretKey: hexOf(seed), publicKey: hexOf(ed25519PublicKey(seed)), issuedAt }
        })
        /** Unique, because another process may start in this directory at the same time. */
        const draft = Effect.map(random.randomBytes(8), (suffix) => `${path}.${hexOf(suffix)}.new`)

        const create = Effect.gen(function* () {
          const keys: KeyFile = { version: 1, current: yield* makeKey, previous: [] }
          const aside = yield* draft
          yield* keep(textOf(keys))
          yield* attempt(path, () => createPrivateFile(path, textOf(keys), aside))
        })

        if (!(yield* attempt(path, () => existsSync(path)))) yield* create
        let keys = yield* readKeys(path)
        let jwsKey = jwsKeyOf(keys)
        const turns = yield* Semaphore.make(1)
        const replaceBy = Effect.fnUntraced(function* (next: KeyFile) {
          const aside = yield* draft
          yield* keep(textOf(next))
          yield* attempt(path, () => replacePrivateFile(path, textOf(next), aside))
          keys = next
          jwsKey = jwsKeyOf(next)
          return published(keys)
        })

        return KeyRing.of({
          sign: (attestation) => ({
            ...signAttestation(attestation, seedOf(keys)),
            publicKey: keys.current.publicKey
          }),
          signJws: (payload) => signJws(payload, jwsKey),
          publicKeys: () => published(keys),
          sealing: Effect.gen(function* () {
            if (keys.sealing === undefined) {
              yield* replaceBy({ ...keys, sealing: hexOf(yield* random.randomBytes(sealingBytes)) })
            }
            return Redacted.make(keys.sealing ?? "")
          }).pipe(Effect.uninterruptible, turns.withPermit),
          rotate: Effect.gen(function* () {
            return yield* replaceBy(rotated(keys, yield* makeKey))
          }).pipe(Effect.uninterruptible, turns.withPermit, Effect.withSpan("KeyRing.rotate")),
          revoke: (publicKey) =>
            Effect.gen(function* () {
              const kept = keys.current.publicKey === publicKey ? rotated(keys, yield* makeKey) : keys
              if (kept.previous.every((key) => key.publicKey !== publicKey)) return undefined
              return yield* replaceBy(revoked(kept, publicKey, yield* Clock.currentTimeMillis))
            }).pipe(Effect.uninterruptible, turns.withPermit, Effect.withSpan("KeyRing.revoke"))
        })
      })
    )
}

const KeyFile = Schema.Struct({
  version: Schema.Literal(1),
  current: Schema.Struct({ secretKey: Schema.String, publicKey: Schema.String, issuedAt: Schema.Int }),
  previous: Schema.Array(PreviousKey),
  sealing: Schema.optionalKey(Schema.String)
})
type KeyFile = typeof KeyFile.Type

const ownerOnly = 0o600
const sealingBytes = 32
const decodeKeyFile = Schema.decodeUnknownSync(Schema.fromJsonString(KeyFile))

const published = ({ current, previous }: KeyFile): PublishedKeys => ({
  attestationPublicKey: current.publicKey,
  algorithm: attestationAlgorithm,
  issuedAt: current.issuedAt,
  previousKeys: previous
})

const rotated = ({ current, previous, ...rest }: KeyFile, next: KeyFile["current"]): KeyFile => ({
  ...rest,
  current: next,
  previous: [{ publicKey: current.publicKey, issuedAt: current.issuedAt, retiredAt: next.issuedAt }, ...previous].slice(
    0,
    previousKeysMax
  )
})

/** A second revocation keeps the time of the first. */
const revoked = (keys: KeyFile, publicKey: string, atMillis: number): KeyFile => ({
  ...keys,
  previous: keys.previous.map((key) => (key.publicKey === publicKey ? { revokedAt: atMillis, ...key } : key))
})

const seedOf = ({ current }: KeyFile): Uint8Array => {
  const seed = bytesOf(current.secretKey, ed25519KeyBytes)
  if (seed === undefined) throw new Error("a key that was read has its length")
  return seed
}

const jwsKeyOf = (keys: KeyFile): JwsKey => ({
  seed: seedOf(keys),
  kid: didKeyOf(bytesOf(keys.current.publicKey, ed25519KeyBytes) ?? new Uint8Array())
})

const readKeys = Effect.fnUntraced(function* (path: string) {
  const { mode, text } = yield* attempt(path, () => ({
    mode: statSync(path).mode & 0o777,
    text: readFileSync(path, "utf8")
  }))
  const keys = yield* Effect.try({
    try: () => verified(decodeKeyFile(text)),
    // The parser's message could contain a part of the secret.
    catch: () =>
      new KeyFileFault({
        reason: "damaged",
        path,
        cause: new Error("its content is inconsistent")
      })
  })
  if (mode !== ownerOnly) {
    yield* attempt(path, () => chmodSync(path, ownerOnly))
    yield* Effect.logWarning(`${keyFileName} had mode ${mode.toString(8)}; it is 600 again`)
  }
  return keys
})

/** Throws unless every key is well formed and the current halves belong together. */
const verified = (keys: KeyFile): KeyFile => {
  const isPair = hexOf(ed25519PublicKey(seedOf(keys))) === keys.current.publicKey
  const isWhole = keys.previous.every(({ publicKey }) => bytesOf(publicKey, ed25519KeyBytes) !== undefined)
  if (!isPair || !isWhole) throw new Error("keys that do not belong together")
  return keys
}

const textOf = (keys: KeyFile): string => `${JSON.stringify(keys, undefined, 2)}\n`

const attempt = <A>(path: string, step: () => A): Effect.Effect<A, KeyFileFault> =>
  Effect.try({ try: step, catch: (cause) => new KeyFileFault({ reason: "io", path, cause }) })

/**
 * Text encrypted with a secret that is not stored: AES-256-GCM under the SHA-256 of the secret, a new nonce each time. The
 * secret needs enough entropy, because nothing slows down guessing.
 */
const algorithm = "aes-256-gcm"
/** Random bytes needed for sealing. */
export const nonceBytes = 12
const tagBytes = 16

/** Base64url of nonce, authentication tag and ciphertext; `nonce` is `nonceBytes` bytes of a secure source. */
export const seal = (text: string, secret: string, nonce: Uint8Array): string => {
  const cipher = createCipheriv(algorithm, keyOf(secret), nonce)
  const ciphertext = Buffer.concat([cipher.update(text, "utf8"), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), ciphertext]).toString("base64url")
}

/** The text, or undefined if the secret is wrong or the sealed text was changed. */
export const unseal = (sealed: string, secret: string): string | undefined => {
  const bytes = Buffer.from(sealed, "base64url")
  if (bytes.length < nonceBytes + tagBytes) return undefined
  const decipher = createDecipheriv(algorithm, keyOf(secret), bytes.subarray(0, nonceBytes), {
    authTagLength: tagBytes
  })
  decipher.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes))
  const text = decipher.update(bytes.subarray(nonceBytes + tagBytes))
  try {
    return Buffer.concat([text, decipher.final()]).toString("utf8")
  } catch {
    // `final` throws only for a wrong tag.
    return undefined
  }
}

const keyOf = (secret: string): Uint8Array => createHash("sha256").update(`muniment sealed text\0${secret}`).digest()

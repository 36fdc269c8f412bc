/**
 * The keys that sign attestations: `<dataDirectory>/attestation-keys.json`, readable by its owner alone.
 *
 * Invariants: the file is created once, whole and synced, however many start at the same time; a file
 * that cannot be read or does not add up stops the start and is never replaced by a new key, for that
 * would disown every attestation made; a rotation keeps the public halves of earlier keys published
 * and forgets their secrets.
 */
import { Clock, Context, Effect, Layer, Schema, Semaphore } from "effect"
import { SecureRandom } from "effect/crypto"
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync
} from "node:fs"
import { dirname, join } from "node:path"
import type { Attestation } from "@muniment/domain/Attestation"
import { attestationAlgorithm, bytesOf, hexOf, type SignedAttestation, signAttestation } from "./Attestation.ts"
import { ed25519KeyBytes, ed25519PublicKey } from "./Ed25519.ts"

export const keyFileName = "attestation-keys.json"
/** The newest stay; an attestation lives 365 days at most, so rotate less often than every third day. */
export const previousKeysMax = 128

/** The well-known file (specification section 4.4); `issuedAt` in milliseconds. */
export interface PublishedKeys {
  readonly attestationPublicKey: string
  readonly algorithm: typeof attestationAlgorithm
  readonly issuedAt: number
  /** Keys of earlier attestations, newest first. */
  readonly previousKeys: ReadonlyArray<PreviousKey>
}

const PreviousKey = Schema.Struct({ publicKey: Schema.String, issuedAt: Schema.Int, retiredAt: Schema.Int })
export type PreviousKey = typeof PreviousKey.Type

/** The key file: `io` when the system refuses, `damaged` when its content does not add up. */
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
    readonly publicKeys: () => PublishedKeys
    /** A new key signs from now on. */
    readonly rotate: Effect.Effect<PublishedKeys, KeyFileFault>
  }
>()("muniment/trust/KeyRing") {
  /** The directory exists. */
  static readonly layer = (dataDirectory: string) =>
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
        /** Unlike any other's, who may be starting on this directory too. */
        const draft = Effect.map(random.randomBytes(8), (suffix) => `${path}.${hexOf(suffix)}.new`)

        const create = Effect.gen(function* () {
          const keys: KeyFile = { version: 1, current: yield* makeKey, previous: [] }
          const aside = yield* draft
          yield* attempt(path, () => createOnce(path, aside, keys))
        })

        if (!(yield* attempt(path, () => existsSync(path)))) yield* create
        let keys = yield* readKeys(path)
        const turns = yield* Semaphore.make(1)

        return KeyRing.of({
          sign: (attestation) => ({
            ...signAttestation(attestation, seedOf(keys)),
            publicKey: keys.current.publicKey
          }),
          publicKeys: () => published(keys),
          rotate: Effect.gen(function* () {
            const next = rotated(keys, yield* makeKey)
            const aside = yield* draft
            yield* attempt(path, () => replace(path, aside, next))
            keys = next
            return published(keys)
          }).pipe(Effect.uninterruptible, turns.withPermit, Effect.withSpan("KeyRing.rotate"))
        })
      })
    )
}

const KeyFile = Schema.Struct({
  version: Schema.Literal(1),
  current: Schema.Struct({ secretKey: Schema.String, publicKey: Schema.String, issuedAt: Schema.Int }),
  previous: Schema.Array(PreviousKey)
})
type KeyFile = typeof KeyFile.Type

const ownerOnly = 0o600
const decodeKeyFile = Schema.decodeUnknownSync(Schema.fromJsonString(KeyFile))

const published = ({ current, previous }: KeyFile): PublishedKeys => ({
  attestationPublicKey: current.publicKey,
  algorithm: attestationAlgorithm,
  issuedAt: current.issuedAt,
  previousKeys: previous
})

const rotated = ({ current, previous }: KeyFile, next: KeyFile["current"]): KeyFile => ({
  version: 1,
  current: next,
  previous: [{ publicKey: current.publicKey, issuedAt: current.issuedAt, retiredAt: next.issuedAt }, ...previous].slice(
    0,
    previousKeysMax
  )
})

const seedOf = ({ current }: KeyFile): Uint8Array => {
  const seed = bytesOf(current.secretKey, ed25519KeyBytes)
  if (seed === undefined) throw new Error("a key that was read has its length")
  return seed
}

const readKeys = Effect.fnUntraced(function* (path: string) {
  const { mode, text } = yield* attempt(path, () => ({
    mode: statSync(path).mode & 0o777,
    text: readFileSync(path, "utf8")
  }))
  const keys = yield* Effect.try({
    try: () => verified(decodeKeyFile(text)),
    // The parser's own words could repeat a part of the secret.
    catch: () => new KeyFileFault({ reason: "damaged", path, cause: new Error("its content does not add up") })
  })
  if (mode !== ownerOnly) {
    yield* attempt(path, () => chmodSync(path, ownerOnly))
    yield* Effect.logWarning(`${keyFileName} had mode ${mode.toString(8)}; it is 600 again`)
  }
  return keys
})

/** Throws unless every key has its form and the current halves belong together. */
const verified = (keys: KeyFile): KeyFile => {
  const isPair = hexOf(ed25519PublicKey(seedOf(keys))) === keys.current.publicKey
  const isWhole = keys.previous.every(({ publicKey }) => bytesOf(publicKey, ed25519KeyBytes) !== undefined)
  if (!isPair || !isWhole) throw new Error("keys that do not belong together")
  return keys
}

/** A link, unlike a rename, fails when the name is taken: of several starts one wins, the rest read. */
const createOnce = (path: string, aside: string, keys: KeyFile): void => {
  writeSynced(aside, keys)
  try {
    linkSync(aside, path)
    syncPath(dirname(path))
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error
  } finally {
    rmSync(aside, { force: true })
  }
}

const replace = (path: string, aside: string, keys: KeyFile): void => {
  try {
    writeSynced(aside, keys)
    renameSync(aside, path)
  } finally {
    rmSync(aside, { force: true })
  }
  syncPath(dirname(path))
}

const writeSynced = (path: string, keys: KeyFile): void => {
  writeFileSync(path, `${JSON.stringify(keys, undefined, 2)}\n`, { flag: "wx", mode: ownerOnly, flush: true })
}

const syncPath = (path: string): void => {
  const descriptor = openSync(path, "r")
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

const attempt = <A>(path: string, step: () => A): Effect.Effect<A, KeyFileFault> =>
  Effect.try({ try: step, catch: (cause) => new KeyFileFault({ reason: "io", path, cause }) })

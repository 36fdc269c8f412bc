/**
 * Encryption of a backup: AES-256-GCM under a random key of the backup, which the passphrase or the key file opens.
 *
 * A sealed part is `MBK1`, a nonce of 12 bytes, the ciphertext and its tag of 16 bytes. Name and number of the part and
 * the number of parts are authenticated with it, so that no part can take another's place. Nonces are random: a key is
 * good for 2^32 parts (NIST SP 800-38D, 8.3), which is 32 PiB.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes, scrypt } from "node:crypto"
import { Data, Effect, Schema } from "effect"

/** Secret that opens the key of the backup. */
export type BackupSecret =
  | { readonly _tag: "Passphrase"; readonly text: string }
  /** Content of a key file: at least `keyFileBytesMin`, from a random source. */
  | { readonly _tag: "KeyFile"; readonly bytes: Uint8Array }

export const keyFileBytesMin = 32

/** In the backup's header. Binary fields in Base64. */
export const SealingHeader = Schema.Struct({
  kdf: Schema.Union([
    Schema.Struct({
      name: Schema.Literal("scrypt"),
      salt: Schema.String,
      cost: Schema.Int,
      blockSize: Schema.Int,
      parallelization: Schema.Int
    }),
    Schema.Struct({ name: Schema.Literal("hkdf-sha256"), salt: Schema.String })
  ]),
  /** The key of the backup as a sealed part, under the key that the secret gives. */
  key: Schema.String
})
export type SealingHeader = typeof SealingHeader.Type

/** The passphrase or the key file is another one, or the header was changed. */
export class WrongSecret extends Data.TaggedError("WrongSecret")<{ readonly message: string }> {}

/** Seals and opens parts; made by `newSealing` or `openSealing`. */
export interface PartKey {
  readonly bytes: Uint8Array
}

interface PartPlace {
  readonly name: string
  readonly part: number
  readonly parts: number
}

const magic = Buffer.from("MBK1", "latin1")
const nonceBytes = 12
const tagBytes = 16
const keyBytes = 32
const saltBytes = 16
const sealedBytesMore = magic.length + nonceBytes + tagBytes

/** 128 MiB and about half a second for each guess. */
const scryptCost = { cost: 131_072, blockSize: 8, parallelization: 1 }
/** A header from elsewhere may not ask for more. */
const scryptBytesMax = 512 * 1_048_576

const keyPlace: PartPlace = { name: "key", part: 0, parts: 1 }

export const sealPart = ({ bytes: key }: PartKey, place: PartPlace, plain: Uint8Array, nonce: Uint8Array): Buffer => {
  const cipher = createCipheriv("aes-256-gcm", key, nonce)
  cipher.setAAD(authenticated(place))
  return Buffer.concat([magic, nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
}

export const newNonce = (): Uint8Array => randomBytes(nonceBytes)

/** Undefined: another key, another place, or changed bytes. */
export const openPart = ({ bytes: key }: PartKey, place: PartPlace, sealed: Uint8Array): Buffer | undefined => {
  const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength)
  if (bytes.length < sealedBytesMore || !bytes.subarray(0, magic.length).equals(magic)) return undefined
  const nonce = bytes.subarray(magic.length, magic.length + nonceBytes)
  const decipher = createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: tagBytes })
  decipher.setAAD(authenticated(place))
  decipher.setAuthTag(bytes.subarray(-tagBytes))
  try {
    return Buffer.concat([decipher.update(bytes.subarray(magic.length + nonceBytes, -tagBytes)), decipher.final()])
  } catch {
    // `final` throws only for a wrong tag.
    return undefined
  }
}

/** A new random key, and the header from which the secret opens it. */
export const newSealing = Effect.fnUntraced(function* (secret: BackupSecret) {
  const salt = randomBytes(saltBytes).toString("base64")
  const kdf: SealingHeader["kdf"] =
    secret._tag === "Passphrase" ? { name: "scrypt", salt, ...scryptCost } : { name: "hkdf-sha256", salt }
  const key: PartKey = { bytes: randomBytes(keyBytes) }
  const outer = yield* outerKey(kdf, secret)
  const header: SealingHeader = { kdf, key: sealPart(outer, keyPlace, key.bytes, newNonce()).toString("base64") }
  return { header, key }
})

export const openSealing = Effect.fnUntraced(function* (header: SealingHeader, secret: BackupSecret) {
  const wanted = header.kdf.name === "scrypt" ? "Passphrase" : "KeyFile"
  if (secret._tag !== wanted) {
    const named = wanted === "Passphrase" ? "a passphrase (--passphrase-file)" : "a key file (--key-file)"
    return yield* new WrongSecret({ message: `the backup is sealed with ${named}` })
  }
  const outer = yield* outerKey(header.kdf, secret)
  const bytes = openPart(outer, keyPlace, Buffer.from(header.key, "base64"))
  if (bytes === undefined) {
    return yield* new WrongSecret({ message: `the ${wanted === "Passphrase" ? "passphrase" : "key file"} is wrong` })
  }
  return { bytes } satisfies PartKey
})

const authenticated = ({ name, part, parts }: PartPlace): Buffer =>
  Buffer.from(`muniment backup\0${name}\0${part}\0${parts}`, "utf8")

const outerKey = (kdf: SealingHeader["kdf"], secret: BackupSecret): Effect.Effect<PartKey, WrongSecret> => {
  const salt = Buffer.from(kdf.salt, "base64")
  if (kdf.name === "hkdf-sha256") {
    const input = secret._tag === "KeyFile" ? secret.bytes : Buffer.from(secret.text, "utf8")
    return Effect.sync(() => ({
      bytes: new Uint8Array(hkdfSync("sha256", input, salt, "muniment backup", keyBytes))
    }))
  }
  const { blockSize, cost, parallelization } = kdf
  if (!isScryptCost(kdf)) return Effect.fail(wrongHeader(new Error("the cost of scrypt is out of range")))
  const input = secret._tag === "Passphrase" ? secret.text.normalize("NFKC") : secret.bytes
  return Effect.callback((resume) => {
    try {
      scrypt(input, salt, keyBytes, { cost, blockSize, parallelization, maxmem: scryptBytesMax }, (error, bytes) =>
        resume(error === null ? Effect.succeed({ bytes }) : Effect.fail(wrongHeader(error)))
      )
    } catch (error) {
      resume(Effect.fail(wrongHeader(error)))
    }
  })
}

/**
 * RFC 7914, section 2, and the memory that is lent. Asked here because Node 24 leaves OpenSSL's refusal behind, and the
 * next private key that is read fails with it.
 */
const isScryptCost = ({ blockSize, cost, parallelization }: typeof scryptCost): boolean =>
  cost > 1 &&
  Number.isInteger(Math.log2(cost)) &&
  blockSize >= 1 &&
  Math.log2(cost) < 16 * blockSize &&
  parallelization >= 1 &&
  128 * blockSize * (cost + 2 + parallelization) <= scryptBytesMax

const wrongHeader = (cause: unknown): WrongSecret =>
  new WrongSecret({
    message: `the header of the backup cannot be used: ${cause instanceof Error ? cause.message : String(cause)}`
  })

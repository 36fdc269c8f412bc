/**
 * The documents of a backup: its header, the manifest of each backup, and the draft of one that is being made. README,
 * Format, has the names and an example.
 *
 * A document is a line of JSON and a line with the SHA-256 of the first, so that rot in it is noticed without a key too.
 */
import { Data, Effect, Option, Schema } from "effect"
import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes, scrypt } from "node:crypto"

/**
 * Encryption of a backup: AES-256-GCM under a random key of the backup, which the passphrase or the key file opens.
 *
 * A sealed part is `MBK1`, a nonce of 12 bytes, the ciphertext and its tag of 16 bytes. Name and number of the part and
 * the number of parts are authenticated with it, so that no part can take another's place. Nonces are random: a key is
 * good for 2^32 parts (NIST SP 800-38D, 8.3), which is 32 PiB.
 */

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

export const formatVersion = 1
export const headerName = "muniment-backup.json"
export const manifestPrefix = "manifests/"
export const draftPrefix = "drafts/"
export const objectPrefix = "objects/"

export const controlFile = "control.db"

/** Never sealed: it says how the others are. */
export const BackupHeader = Schema.Struct({
  muniment: Schema.Literal("backup"),
  format: Schema.Literal(formatVersion),
  /** Null: nothing is sealed. */
  sealing: Schema.NullOr(SealingHeader)
})
export type BackupHeader = typeof BackupHeader.Type

/** A file of the data directory as it was copied. Times in milliseconds. */
export const BackupFile = Schema.Struct({
  /** Path in the data directory, with slashes. */
  file: Schema.String,
  /** Name of the object, of which there are `parts` parts. */
  object: Schema.String,
  parts: Schema.Int,
  bytes: Schema.Int,
  sha256: Schema.String,
  /** Began at; what was committed before is in it. */
  copiedAt: Schema.Int,
  /** The same mark of the file later means the same content; null: the file had just changed. */
  mark: Schema.NullOr(Schema.String),
  /** Epoch, last sequence number, and ordinal of the commit log if it has one: of a namespace. */
  epoch: Schema.optionalKey(Schema.Int),
  seq: Schema.optionalKey(Schema.Int),
  ordinal: Schema.optionalKey(Schema.Int),
  /** `PRAGMA user_version` of a database. */
  version: Schema.optionalKey(Schema.Int),
  /** Why this is an older copy than the others: the file is damaged since. */
  stale: Schema.optionalKey(Schema.String)
})
export type BackupFile = typeof BackupFile.Type

/** Records of the commit log between two ordinals, both inclusive. */
const BackupSegment = Schema.Struct({
  object: Schema.String,
  parts: Schema.Int,
  bytes: Schema.Int,
  sha256: Schema.String,
  first: Schema.Int,
  last: Schema.Int
})

/** Ordinals and times (milliseconds), all inclusive. */
export const BackupLog = Schema.Struct({
  first: Schema.Int,
  /** The files have no record behind it: the first moment that can be restored. */
  complete: Schema.Int,
  completeAt: Schema.Int,
  last: Schema.Int,
  /** All that was acknowledged until then is in it. */
  through: Schema.Int,
  /** It has what was erased later: nothing that is dated later may continue it. */
  isOutlived: Schema.optionalKey(Schema.Boolean),
  /** The next records were erased before a backup had them. */
  isCut: Schema.optionalKey(Schema.Boolean),
  segments: Schema.Array(BackupSegment)
})
export type BackupLog = typeof BackupLog.Type

export const BackupManifest = Schema.Struct({
  muniment: Schema.Literal("manifest"),
  format: Schema.Literal(formatVersion),
  id: Schema.String,
  /** Every write that was acknowledged before is in the backup. */
  startedAt: Schema.Int,
  finishedAt: Schema.Int,
  /** Release of the service. */
  release: Schema.String,
  /** `control.db` first, then files of keys, then namespaces. */
  files: Schema.Array(BackupFile),
  /** Namespaces of `control.db` without a file: agents that hold nothing yet. */
  empty: Schema.Array(Schema.String),
  /** Null: the service has no commit log, or it could not be read, and each file has a moment of its own. */
  log: Schema.NullOr(BackupLog)
})
export type BackupManifest = typeof BackupManifest.Type

/** Files that a backup has copied so far; the next one takes over what has not changed since. */
export const BackupDraft = Schema.Struct({
  muniment: Schema.Literal("draft"),
  format: Schema.Literal(formatVersion),
  id: Schema.String,
  /** Renewed while the backup is being made. */
  touchedAt: Schema.Int,
  files: Schema.Array(BackupFile)
})
export type BackupDraft = typeof BackupDraft.Type

/** A document that is no longer what was written, or that this release cannot read. */
export class DamagedBackup extends Data.TaggedError("DamagedBackup")<{ readonly message: string }> {}

export const documentBytes = (value: BackupHeader | BackupManifest | BackupDraft): Uint8Array => {
  const json = JSON.stringify(value)
  return Buffer.from(`${json}\n${digestOf(json)}\n`, "utf8")
}

export const readHeader = (bytes: Uint8Array) => read(BackupHeader, headerName, bytes)
export const readManifest = (name: string, bytes: Uint8Array) => read(BackupManifest, name, bytes)
export const readDraft = (name: string, bytes: Uint8Array) => read(BackupDraft, name, bytes)

/** Throws `DamagedBackup`. */
const read = <A>(schema: Schema.Codec<A, unknown>, name: string, bytes: Uint8Array): A => {
  const [json = "", digest] = Buffer.from(bytes).toString("utf8").split("\n")
  if (digestOf(json) !== digest) throw new DamagedBackup({ message: `${name} was damaged after it was written` })
  const value: unknown = JSON.parse(json)
  if (isNewer(value)) {
    throw new DamagedBackup({ message: `${name} was written by a later release; read it with that one` })
  }
  const decoded = Schema.decodeUnknownOption(schema)(value)
  if (Option.isNone(decoded)) throw new DamagedBackup({ message: `${name} is not what its name says` })
  return decoded.value
}

const isNewer = (value: unknown): boolean =>
  typeof value === "object" &&
  value !== null &&
  "format" in value &&
  typeof value.format === "number" &&
  value.format > formatVersion

const digestOf = (text: string): string => createHash("sha256").update(text).digest("hex")

/** `20261122T220000123Z-5f3a`: ordered by time. `suffix` tells backups of one millisecond apart. */
export const backupIdOf = (atMillis: number, suffix: string): string =>
  `${new Date(atMillis).toISOString().replace(/[-:.]/g, "")}-${suffix}`

/** Where the copy of a file lies; `id` is of the backup that copied it, so that no name is ever written twice. */
export const objectNameOf = (
  file: string,
  id: string,
  at: { readonly epoch?: number; readonly seq?: number }
): string => {
  const tag = namespaceTagOf(file)
  return tag === undefined
    ? `${objectPrefix}${file}/${id}`
    : `${objectPrefix}${tag}/${at.epoch ?? 0}-${at.seq ?? 0}.${id}`
}

/** Name by which a source gives the records of the log behind an ordinal. */
export const recordsFile = (afterOrdinal: number): string => `log/${afterOrdinal}`
export const recordsBehind = (file: string): number | undefined => {
  const digits = /^log\/(\d{1,15})$/.exec(file)?.[1]
  return digits === undefined ? undefined : Number(digits)
}
export const recordsObjectOf = (id: string, first: number, last: number): string =>
  `${objectPrefix}log/${first}-${last}.${id}`

export const namespaceFile = (tag: string): string => `namespaces/${tag}.db`

export const namespaceTagOf = (file: string): string | undefined => /^namespaces\/([0-9a-f]{12})\.db$/.exec(file)?.[1]

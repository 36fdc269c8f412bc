/**
 * Input of a command: a file, standard input (`-`) or the body behind a URL, whole or by lines, at most
 * `Limits.requestBodyBytesMax`; and files of wallet keys.
 */
import { Console, Effect, FileSystem, Redacted, Stdio, Stream } from "effect"
import { FetchHttpClient, HttpClient, HttpClientResponse } from "effect/http"
import { Argument, Flag } from "effect/cli"
import { SecureRandom } from "effect/crypto"
import { Limits } from "@muniment/domain/Limits"
import type { WalletSigner } from "@muniment/trust/WalletSigner"
import { CommandFailed, commandFailed } from "./CommandFailed.ts"

const fetchTimeoutMillis = 10_000

/** The bytes of a file, or of standard input when `source` is `-`. */
export const readInput = Effect.fnUntraced(function* (source: string) {
  if (source === "-") return yield* collected((yield* Stdio.Stdio).stdin, "standard input")
  return yield* collected((yield* FileSystem.FileSystem).stream(source), source)
}, Effect.mapError(commandFailed))

/** The body behind `url`, when it answers with status 200. */
export const readUrl = (url: string) =>
  HttpClient.get(url).pipe(
    Effect.flatMap(HttpClientResponse.filterStatus((status) => status === 200)),
    Effect.flatMap((response) => collected(response.stream, url)),
    Effect.timeoutOrElse({
      duration: fetchTimeoutMillis,
      orElse: () => Effect.fail(new CommandFailed({ reason: `${url} gave no answer in time` }))
    }),
    Effect.mapError(commandFailed),
    Effect.provide(FetchHttpClient.layer)
  )

/** Refuses bytes that are not UTF-8 instead of replacing them: they will be hashed. */
export const textOf = (bytes: Uint8Array, source: string): Effect.Effect<string, CommandFailed> =>
  Effect.try({
    try: () => new TextDecoder("utf-8", { fatal: true }).decode(bytes),
    catch: () => new CommandFailed({ reason: `${source} is not UTF-8 text` })
  })

const collected = Effect.fnUntraced(function* <E>(bytes: Stream.Stream<Uint8Array, E>, source: string) {
  const chunks: Array<Uint8Array> = []
  let size = 0
  yield* Stream.runForEach(bytes, (chunk) => {
    size += chunk.byteLength
    if (size > Limits.requestBodyBytesMax) {
      return Effect.fail(new CommandFailed({ reason: `${source} has more than ${Limits.requestBodyBytesMax} bytes` }))
    }
    chunks.push(chunk)
    return Effect.void
  })
  return new Uint8Array(Buffer.concat(chunks))
})

const othersMask = 0o077

/**
 * Files that hold a secret: keys of wallets, what seals backups. One that others can read works, with a warning on
 * standard error: refusing it would only teach people to copy keys about.
 */
export const warnIfOthersRead = Effect.fnUntraced(function* (path: string) {
  const { mode } = yield* (yield* FileSystem.FileSystem).stat(path)
  if ((mode & othersMask) === 0) return
  yield* Console.error(`! ${path} can be read by others (mode ${(mode & 0o777).toString(8)}); run: chmod 600 ${path}`)
})

const isNamed = (path: string): boolean => path !== ""
const expected = (): string => "a name that is not empty"

/** Flags and arguments that name a file or a folder: an empty name, as an unset variable of a shell leaves it, is refused. */
export const pathFlag = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.withDescription(description), Flag.filter(isNamed, expected))

export const pathArgument = (name: string, description: string) =>
  Argument.String(name).pipe(Argument.withDescription(description), Argument.filter(isNamed, expected))

const ownerOnly = 0o600
const evmKeyBytes = 32

/**
 * Wallet keys in files. A key is read for one signature and is never printed, logged or sent. Everyone who can read the
 * file can act as the wallet, hence the warning about its mode.
 *
 * Key texts as in `WalletSigner`: EVM hex, Solana base58 of 64 bytes or a list as `solana-keygen` writes.
 */
export interface WalletKey {
  readonly signer: WalletSigner
  /** The key's text, for signing a payment, which is not a message. */
  readonly text: Redacted.Redacted<string>
}

/** Signs with the key of that file. */
export const readSigner = (path: string) => Effect.map(readWalletKey(path), ({ signer }) => signer)

export const readWalletKey = Effect.fnUntraced(function* (path: string) {
  const { walletSignerOf } = yield* Effect.promise(() => import("@muniment/trust/WalletSigner"))
  yield* warnIfOthersRead(path)
  const text = Buffer.from(yield* readInput(path))
    .toString("utf8")
    .trim()
  return yield* Effect.try({
    try: (): WalletKey => ({ signer: walletSignerOf(text), text: Redacted.make(text) }),
    // The reason never repeats the text.
    catch: (cause) => new CommandFailed({ reason: `${path} holds ${commandFailed(cause).reason}` })
  })
}, Effect.mapError(commandFailed))

/** A new EVM key in a new file; -> the wallet. An existing file is never overwritten. */
export const createKeyFile = Effect.fnUntraced(
  function* (path: string) {
    const { evmSigner } = yield* Effect.promise(() => import("@muniment/trust/WalletSigner"))
    const random = yield* SecureRandom.SecureRandom
    const key = `0x${Buffer.from(yield* random.randomBytes(evmKeyBytes)).toString("hex")}`
    const { wallet } = yield* Effect.try({ try: () => evmSigner(key), catch: commandFailed })
    const files = yield* FileSystem.FileSystem
    yield* files.writeFileString(path, `${key}\n`, { flag: "wx", mode: ownerOnly })
    return wallet
  },
  Effect.mapError(commandFailed),
  Effect.provide(SecureRandom.layerWebCrypto)
)

const newline = 0x0a

/**
 * Newline-delimited messages out of chunks of bytes. A line longer than the bound is not kept: it comes out
 * as `undefined`, so that the reader can report that one message was lost.
 */
export class MessageLines {
  readonly #bytesMax: number
  #parts: Array<Uint8Array> = []
  #length = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** The lines that end in this chunk, without blank ones. */
  push(chunk: Uint8Array): Array<Uint8Array | undefined> {
    const lines: Array<Uint8Array | undefined> = []
    let start = 0
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      this.#keep(chunk.subarray(start, end))
      lines.push(...this.end())
      start = end + 1
    }
    this.#keep(chunk.subarray(start))
    return lines
  }

  /** The text after the last newline; nothing if that is blank. */
  end(): Array<Uint8Array | undefined> {
    const isLost = this.#length > this.#bytesMax
    const line = Buffer.concat(this.#parts)
    this.#parts = []
    this.#length = 0
    if (isLost) return [undefined]
    return line.every(isBlank) ? [] : [line]
  }

  #keep(part: Uint8Array): void {
    this.#length += part.length
    if (this.#length > this.#bytesMax) this.#parts = []
    else if (part.length > 0) this.#parts.push(part)
  }
}

/** Space, tab, carriage return. */
const isBlank = (byte: number): boolean => byte === 0x20 || byte === 0x09 || byte === 0x0d

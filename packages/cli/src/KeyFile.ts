/**
 * Wallet keys in files. A key is read for one signature and is never printed, logged or sent. Everyone who can read the
 * file can act as the wallet, hence the warning about its mode.
 *
 * Key texts as in `WalletSigner`: EVM hex, Solana base58 of 64 bytes or a list as `solana-keygen` writes.
 */
import { Effect, FileSystem, Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import type { WalletSigner } from "@muniment/trust/WalletSigner"
import { commandFailed, CommandFailed } from "./CommandFailed.ts"
import { readInput, warnIfOthersRead } from "./InputFile.ts"

const ownerOnly = 0o600
const evmKeyBytes = 32

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

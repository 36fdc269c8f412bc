/** The client of a user's commands: with an API key or with a wallet's signatures. */
import { Console, Effect, Option } from "effect"
import { Muniment } from "@muniment/client/Muniment"
import { CommandFailed, commandFailed } from "../CommandFailed.ts"
import { readWalletKey, type WalletKey } from "../KeyFile.ts"
import { setting } from "../Profiles.ts"
import { servicePlace } from "../ServiceUrl.ts"

export type CallerCredentials =
  | { readonly apiKey: string; readonly key?: undefined }
  | { readonly key: WalletKey; readonly apiKey?: undefined }

/** Credentials of the flags `--api-key` and `--key-file`, then of the environment, then `profileKey`. */
const credentialsOf = Effect.fnUntraced(function* (
  apiKey: Option.Option<string>,
  keyFile: Option.Option<string>,
  profileKey: string | undefined
): Effect.fn.Return<CallerCredentials, CommandFailed, Effect.Services<ReturnType<typeof readWalletKey>>> {
  if (Option.isSome(apiKey)) return { apiKey: apiKey.value }
  if (Option.isSome(keyFile)) return { key: yield* readWalletKey(keyFile.value) }
  const kept = (yield* setting("MUNIMENT_API_KEY")) ?? profileKey
  if (kept !== undefined) return { apiKey: kept }
  return yield* new CommandFailed({
    reason: "No account: set MUNIMENT_API_KEY, save a profile, or give --api-key or --key-file."
  })
})

/** The client for the service and the account that flags and settings name. */
export const callerHere = Effect.fnUntraced(function* ({ apiKey, keyFile, url }: CallerFlags) {
  const place = yield* servicePlace(url)
  return yield* callerOf(place.url, yield* credentialsOf(apiKey, keyFile, place.apiKey))
})

interface CallerFlags {
  readonly apiKey: Option.Option<string>
  readonly keyFile: Option.Option<string>
  readonly url: Option.Option<string>
}

/** Prints a line before each repeated call. */
export const callerOf = Effect.fnUntraced(function* (url: string, { apiKey, key }: CallerCredentials) {
  const run = Effect.runPromiseWith(yield* Effect.context<never>())
  const pause = (millis: number, signal: AbortSignal | undefined): Promise<void> =>
    run(
      Effect.andThen(
        Console.error(`No final answer yet; the call is repeated in ${(millis / 1_000).toFixed(1)} s.`),
        Effect.sleep(millis)
      ),
      signal === undefined ? {} : { signal }
    )
  return new Muniment(
    key === undefined
      ? { baseUrl: url, pause, apiKey }
      : { baseUrl: url, pause, wallet: { address: key.signer.wallet.address, sign: key.signer.sign } }
  )
})

/** One call of the client; a rejection becomes a text for the terminal. Interruption aborts the call. */
export const ask = <A>(call: (signal: AbortSignal) => Promise<A>) =>
  Effect.tryPromise({ try: call, catch: commandFailed })

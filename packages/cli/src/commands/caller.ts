/** The client of a user's commands: with an API key or with a wallet's signatures. */
import { Console, Effect, Option } from "effect"
import { Muniment } from "@muniment/client/Muniment"
import { CommandFailed, commandFailed } from "../CommandFailed.ts"
import { readWalletKey, type WalletKey } from "../KeyFile.ts"

export type CallerCredentials =
  | { readonly apiKey: string; readonly key?: undefined }
  | { readonly key: WalletKey; readonly apiKey?: undefined }

/** Of the flags `--api-key` and `--key-file`. */
export const credentialsOf = Effect.fnUntraced(function* (
  apiKey: Option.Option<string>,
  keyFile: Option.Option<string>
): Effect.fn.Return<CallerCredentials, CommandFailed, Effect.Services<ReturnType<typeof readWalletKey>>> {
  if (Option.isSome(apiKey)) return { apiKey: apiKey.value }
  if (Option.isSome(keyFile)) return { key: yield* readWalletKey(keyFile.value) }
  return yield* new CommandFailed({ reason: "No account: give --api-key or --key-file." })
})

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

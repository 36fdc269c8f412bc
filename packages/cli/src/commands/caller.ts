/** The client of a user's commands: with an API key or with a wallet's signatures. */
import { Console, Effect } from "effect"
import { Muniment } from "@muniment/client/Muniment"
import { commandFailed } from "../CommandFailed.ts"
import type { WalletKey } from "../KeyFile.ts"

export type CallerCredentials =
  | { readonly apiKey: string; readonly key?: undefined }
  | { readonly key: WalletKey; readonly apiKey?: undefined }

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

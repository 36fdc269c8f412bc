/** The way of a user's commands to the service: its client, with an API key or with a wallet's signatures. */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { Muniment } from "@muniment/client/Muniment"
import { commandFailed } from "../CommandFailed.ts"
import type { WalletKey } from "../KeyFile.ts"

export type CallerCredentials =
  | { readonly apiKey: string; readonly key?: undefined }
  | { readonly key: WalletKey; readonly apiKey?: undefined }

/** A person is told when a call is made again. */
export const callerOf = Effect.fnUntraced(function* (url: string, { apiKey, key }: CallerCredentials) {
  const run = Effect.runPromiseWith(yield* Effect.context<never>())
  const pause = (millis: number, signal: AbortSignal | undefined): Promise<void> =>
    run(
      Effect.andThen(
        Console.error(`The service has no final answer yet; asked again in ${(millis / 1_000).toFixed(1)} s.`),
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

/** One call of the client; what it rejects with is a text for a person. Interruption ends it. */
export const ask = <A>(call: (signal: AbortSignal) => Promise<A>) =>
  Effect.tryPromise({ try: call, catch: commandFailed })

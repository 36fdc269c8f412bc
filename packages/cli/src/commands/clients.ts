/** Clients of the commands: a user's, with an API key or a wallet's signatures, and the operator's. */
import { Console, Effect, Option } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import { HttpApiClient } from "effect/http-api"
import { Muniment } from "@muniment/client/Muniment"
import type { ServiceStatus } from "@muniment/domain/api/AdminApi"
import { MunimentApi } from "@muniment/domain/api/MunimentApi"
import { CommandFailed, commandFailed } from "../CommandFailed.ts"
import { readWalletKey, type WalletKey } from "../InputFile.ts"
import { LocalServer, type ModelNeed, type ServerEndpoint } from "../LocalServer.ts"
import { servicePlace, setting } from "../ServiceUrl.ts"

type CallerCredentials =
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

/**
 * The way of the operator's commands to the operator routes: clients of the contract's groups for operators.
 *
 * Operator routes by group.
 */
export type Operator = HttpApiClient.ForApi<typeof MunimentApi>

/** Runs `program` with the operator's clients; whatever fails, fails with a text for a person. */
export const withOperator = Effect.fnUntraced(function* <A, E, R>(
  program: (operator: Operator, endpoint: ServerEndpoint) => Effect.Effect<A, E, R>,
  need: ModelNeed = "withoutModel"
) {
  const server = yield* LocalServer
  return yield* server.use(
    (endpoint) => clientsOf(endpoint).pipe(Effect.flatMap((operator) => program(operator, endpoint))),
    need
  )
}, Effect.mapError(commandFailed))

const clientsOf = (endpoint: ServerEndpoint) =>
  HttpApiClient.make(MunimentApi, {
    baseUrl: endpoint.url,
    transformClient: HttpClient.mapRequest(HttpClientRequest.bearerToken(endpoint.token))
  }).pipe(Effect.provide(FetchHttpClient.layer))

const loadPollMillis = 250
/** Polls for a model that is being loaded: 20 seconds. */
const loadPollsMax = 80

/** The state of the service once its model is loaded, or will not be: a server that just started is still loading. */
export const settledStatus = Effect.fnUntraced(function* (admin: Operator["admin"]) {
  let status = yield* admin.status()
  for (let polls = 0; isLoading(status) && polls < loadPollsMax; polls++) {
    yield* Effect.sleep(loadPollMillis)
    status = yield* admin.status()
  }
  return status
})

const isLoading = ({ embedding }: ServiceStatus): boolean => !embedding.ready && embedding.detail.includes("loading")

/** The way of every command but `serve` to the operator routes: a typed client of the contract's AdminApi. */
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as HttpApiClient from "effect/http-api/HttpApiClient"
import * as Effect from "effect/Effect"
import type { AdminApi } from "@muniment/domain/api/AdminApi"
import { MunimentApi } from "@muniment/domain/api/MunimentApi"
import { commandFailed, type CommandFailed } from "../CommandFailed.ts"
import { LocalServer, type ServerEndpoint } from "../LocalServer.ts"

export type Operator = HttpApiClient.Client<typeof AdminApi>["admin"]

/** Runs `program` with the operator's client; whatever fails, fails with a text for a person. */
export const withOperator = Effect.fnUntraced(function* <A, E, R>(
  program: (operator: Operator, endpoint: ServerEndpoint) => Effect.Effect<A, E, R>
) {
  const server = yield* LocalServer
  return yield* server.use((endpoint) =>
    operatorOf(endpoint).pipe(Effect.flatMap((operator) => program(operator, endpoint)))
  )
}, Effect.mapError(commandFailed))

const operatorOf = (endpoint: ServerEndpoint): Effect.Effect<Operator> =>
  HttpApiClient.make(MunimentApi, {
    baseUrl: endpoint.url,
    transformClient: HttpClient.mapRequest(HttpClientRequest.bearerToken(endpoint.token))
  }).pipe(
    Effect.map((client) => client.admin),
    Effect.provide(FetchHttpClient.layer)
  )

/** The way of every command but `serve` to the operator routes: a typed client of the contract's AdminApi. */
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as HttpApiClient from "effect/http-api/HttpApiClient"
import * as Effect from "effect/Effect"
import type { AdminApi, ServiceStatus } from "@muniment/domain/api/AdminApi"
import { MunimentApi } from "@muniment/domain/api/MunimentApi"
import { commandFailed } from "../CommandFailed.ts"
import { LocalServer, type ModelNeed, type ServerEndpoint } from "../LocalServer.ts"

export type Operator = HttpApiClient.Client<typeof AdminApi>["admin"]

/** Runs `program` with the operator's client; whatever fails, fails with a text for a person. */
export const withOperator = Effect.fnUntraced(function* <A, E, R>(
  program: (operator: Operator, endpoint: ServerEndpoint) => Effect.Effect<A, E, R>,
  need: ModelNeed = "withoutModel"
) {
  const server = yield* LocalServer
  return yield* server.use(
    (endpoint) => operatorOf(endpoint).pipe(Effect.flatMap((operator) => program(operator, endpoint))),
    need
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

const loadPollMillis = 250
/** Polls for a model that is being loaded: 20 seconds. */
const loadPollsMax = 80

/** The state of the service once its model is loaded, or will not be: a server that just started is still loading. */
export const settledStatus = Effect.fnUntraced(function* (operator: Operator) {
  let status = yield* operator.status()
  for (let polls = 0; isLoading(status) && polls < loadPollsMax; polls++) {
    yield* Effect.sleep(loadPollMillis)
    status = yield* operator.status()
  }
  return status
})

const isLoading = ({ embedding }: ServiceStatus): boolean => !embedding.ready && embedding.detail.includes("loading")

/** The way of the operator's commands to the operator routes: clients of the contract's groups for operators. */
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import { HttpApiClient } from "effect/http-api"
import { Effect } from "effect"
import type { ServiceStatus } from "@muniment/domain/api/AdminApi"
import { MunimentApi } from "@muniment/domain/api/MunimentApi"
import { commandFailed } from "../CommandFailed.ts"
import { LocalServer, type ModelNeed, type ServerEndpoint } from "../LocalServer.ts"

/** Operator routes by group. */
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

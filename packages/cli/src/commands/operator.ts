/**
 * The way of the operator's commands to the operator routes: typed clients of the contract's AdminApi,
 * AccountAdminApi, MoneyAdminApi, BackupAdminApi, WebhookAdminApi, ConsoleAdminApi and ConsolidationAdminApi.
 */
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import { HttpApiClient } from "effect/http-api"
import { Effect } from "effect"
import type { AccountAdminApi } from "@muniment/domain/api/AccountAdminApi"
import type { BackupAdminApi } from "@muniment/domain/api/BackupAdminApi"
import type { AdminApi, ServiceStatus } from "@muniment/domain/api/AdminApi"
import type { MoneyAdminApi } from "@muniment/domain/api/MoneyAdminApi"
import type { ConsoleAdminApi } from "@muniment/domain/api/ConsoleAdminApi"
import type { ConsolidationAdminApi } from "@muniment/domain/api/ConsolidationAdminApi"
import type { WebhookAdminApi } from "@muniment/domain/api/WebhookAdminApi"
import { MunimentApi } from "@muniment/domain/api/MunimentApi"
import { commandFailed } from "../CommandFailed.ts"
import { LocalServer, type ModelNeed, type ServerEndpoint } from "../LocalServer.ts"

export type Operator = HttpApiClient.Client<typeof AdminApi>["admin"]

export type MoneyOperator = HttpApiClient.Client<typeof MoneyAdminApi>["money"]

export type AccountOperator = HttpApiClient.Client<typeof AccountAdminApi>["accounts"]

export type BackupOperator = HttpApiClient.Client<typeof BackupAdminApi>["backups"]

export type WebhookOperator = HttpApiClient.Client<typeof WebhookAdminApi>["webhooks"]

export type ConsoleOperator = HttpApiClient.Client<typeof ConsoleAdminApi>["sessions"]

export type ConsolidationOperator = HttpApiClient.Client<typeof ConsolidationAdminApi>["consolidations"]

/** Runs `program` with the operator's client; whatever fails, fails with a text for a person. */
export const withOperator = <A, E, R>(
  program: (operator: Operator, endpoint: ServerEndpoint) => Effect.Effect<A, E, R>,
  need: ModelNeed = "withoutModel"
) => withClients(({ admin }, endpoint) => program(admin, endpoint), need)

/** The same for the routes about money, none of which needs a model. */
export const withMoneyOperator = <A, E, R>(program: (operator: MoneyOperator) => Effect.Effect<A, E, R>) =>
  withClients(({ money }) => program(money), "withoutModel")

/** The same for the routes about what becomes of accounts. */
export const withAccountOperator = <A, E, R>(program: (operator: AccountOperator) => Effect.Effect<A, E, R>) =>
  withClients(({ accounts }) => program(accounts), "withoutModel")

/** The same for the routes about backups. */
export const withBackupOperator = <A, E, R>(program: (operator: BackupOperator) => Effect.Effect<A, E, R>) =>
  withClients(({ backups }) => program(backups), "withoutModel")

/** The same for the routes about the webhook. */
export const withWebhookOperator = <A, E, R>(program: (operator: WebhookOperator) => Effect.Effect<A, E, R>) =>
  withClients(({ webhooks }) => program(webhooks), "withoutModel")

/** The same for the routes about the console's sessions. */
export const withConsoleOperator = <A, E, R>(program: (operator: ConsoleOperator) => Effect.Effect<A, E, R>) =>
  withClients(({ sessions }) => program(sessions), "withoutModel")

/** The same for the routes about consolidation. */
export const withConsolidationOperator = <A, E, R>(
  program: (operator: ConsolidationOperator) => Effect.Effect<A, E, R>
) => withClients(({ consolidations }) => program(consolidations), "withoutModel")

export type Clients = {
  readonly admin: Operator
  readonly money: MoneyOperator
  readonly accounts: AccountOperator
  readonly backups: BackupOperator
  readonly webhooks: WebhookOperator
  readonly sessions: ConsoleOperator
  readonly consolidations: ConsolidationOperator
}

/** The same with all of them. */
export const withClients = Effect.fnUntraced(function* <A, E, R>(
  program: (clients: Clients, endpoint: ServerEndpoint) => Effect.Effect<A, E, R>,
  need: ModelNeed
) {
  const server = yield* LocalServer
  return yield* server.use(
    (endpoint) => clientsOf(endpoint).pipe(Effect.flatMap((clients) => program(clients, endpoint))),
    need
  )
}, Effect.mapError(commandFailed))

const clientsOf = (endpoint: ServerEndpoint): Effect.Effect<Clients> =>
  HttpApiClient.make(MunimentApi, {
    baseUrl: endpoint.url,
    transformClient: HttpClient.mapRequest(HttpClientRequest.bearerToken(endpoint.token))
  }).pipe(Effect.provide(FetchHttpClient.layer))

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

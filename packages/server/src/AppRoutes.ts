/**
 * Everything that answers at the service's address: the API with its middleware, MCP, the console, published keys and
 * the pages at the origin, and the services that only these need.
 */
import { Data, Effect, Layer, Option } from "effect"
import { SecureRandom } from "effect/crypto"
import { HttpRouter } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { MunimentApi } from "@muniment/domain/api/MunimentApi"
import { booksOptionsOf, openIdOf, type ServerConfig, signUpOf } from "./Config.ts"
import { consoleRoutes } from "./console/ConsoleRoutes.ts"
import { ConsoleLinks, ConsoleSessions } from "./console/ConsoleSessions.ts"
import { consoleAdminHandlers, signInRoutes } from "./console/SignInRoutes.ts"
import { accountAdminHandlers, accountHandlers, keysHandlers } from "./http/AccountHandlers.ts"
import {
  adminHandlers,
  consolidationAdminHandlers,
  webhookAdminHandlers,
  backupAdminHandlers
} from "./http/AdminHandlers.ts"
import { attestationsHandlers, keyFileRoutes } from "./http/AttestationsHandlers.ts"
import { EventStreams } from "./events/EventStreams.ts"
import { eventsHandlers, hooksHandlers } from "./http/HooksHandlers.ts"
import { authorization, operatorAuthorization } from "./http/Authorization.ts"
import { crossOrigin } from "./http/CrossOrigin.ts"
import { contextHandlers, memoriesHandlers } from "./http/MemoriesHandlers.ts"
import { creditsHandlers } from "./http/CreditsHandlers.ts"
import { bodyLimit, charging, idempotency } from "./http/Middleware.ts"
import { envelope } from "./http/Envelope.ts"
import { moneyAdminHandlers } from "./http/MoneyAdminHandlers.ts"
import { originRoutes } from "./http/Origin.ts"
import { RateLimits, rateLimiting } from "./http/RateLimits.ts"
import { schemasHandlers } from "./http/SchemasHandlers.ts"
import { validation, wellFormedRequest } from "./http/Validation.ts"
import { serviceAudience, trustedProxies } from "./identity/ClientAddress.ts"
import { OperatorAccess, operatorsAdminHandlers } from "./console/OperatorAccess.ts"
import { SignatureBudget } from "./identity/SignatureBudget.ts"
import { WalletSignUp } from "./identity/WalletSignUp.ts"
import { mcpRoutes } from "./mcp/McpRoutes.ts"
import { PendingRequests, RequestHistory } from "./operator/requests/RequestHistory.ts"
import { CallTally, ServiceSeries } from "./operator/series/ServiceSeries.ts"

/** Routes outside the API ask for services at each request. */
const withServices = HttpRouter.middleware(
  Effect.map(
    Effect.context(),
    (services) =>
      <A, E, R>(handler: Effect.Effect<A, E, R>) =>
        Effect.provideContext(handler, services)
  )
)

/** `front`: where operators of this machine reach it, if that is not where it listens. */
export const routesOf = (config: ServerConfig, front: string | undefined) => {
  const { keyFileAliases, rateLimits, serviceName } = config
  const publicUrl = Option.getOrUndefined(config.publicUrl)
  const isLimited = rateLimits === "on"
  const signUp = signUpOf(config)
  const proxies = trustedProxies(config.trustedProxies)
  const middleware = Layer.mergeAll(
    bodyLimit,
    authorization(serviceAudience(config)).pipe(
      Layer.provide(WalletSignUp.layer({ ...signUp, plan: config.walletPlan, isLimited, trustedProxies: proxies })),
      Layer.provide(SignatureBudget.layer(proxies))
    ),
    operatorAuthorization,
    rateLimiting,
    wellFormedRequest,
    validation,
    idempotency,
    charging
  )
  const handlers = Layer.mergeAll(
    memoriesHandlers,
    contextHandlers,
    eventsHandlers.pipe(Layer.provide(EventStreams.layer)),
    schemasHandlers,
    attestationsHandlers,
    accountHandlers,
    keysHandlers,
    hooksHandlers(config.accountWebhooks).pipe(Layer.provide(SecureRandom.layerWebCrypto)),
    creditsHandlers(booksOptionsOf(config)),
    adminHandlers,
    accountAdminHandlers,
    moneyAdminHandlers,
    backupAdminHandlers,
    webhookAdminHandlers,
    consoleAdminHandlers,
    operatorsAdminHandlers,
    consolidationAdminHandlers
  )
  const records = new PendingRequests()
  const hasConsole = config.console !== "off"
  const tally = new CallTally()
  return Layer.mergeAll(
    HttpApiBuilder.layer(MunimentApi).pipe(Layer.provide(handlers), Layer.provide(middleware)),
    Layer.mergeAll(
      mcpRoutes(config).pipe(Layer.provide(middleware)),
      keyFileRoutes([serviceName, ...keyFileAliases]),
      originRoutes({ publicUrl, host: config.host, hasConsole }),
      consoleRoutes({ isOn: hasConsole }),
      signInOf(config)
    ).pipe(Layer.provide(withServices.layer)),
    crossOrigin(config.corsOrigins),
    envelope({ logsRequests: config.requestLog === "on", isTraced: Option.isSome(config.otlpUrl), records, tally })
  ).pipe(
    Layer.provide(RequestHistory.layer(records, { days: config.requestDays })),
    Layer.provide(ServiceSeries.layer(tally)),
    Layer.provide(RateLimits.layer({ isOn: isLimited })),
    Layer.provideMerge(
      ConsoleLinks.layer({
        isOn: config.console !== "off",
        host: config.host,
        origin: config.console === "remote" ? publicUrl : front
      })
    ),
    Layer.provide(OperatorAccess.layer({ host: config.host, isRemote: config.console === "remote" })),
    Layer.provide(ConsoleSessions.layer.pipe(Layer.provide(SecureRandom.layerWebCrypto))),
    Layer.provide(
      Layer.effectDiscard(config.console === "remote" && !hasTls(config) ? new ConsoleExposed() : Effect.void)
    )
  )
}

const signInOf = (config: ServerConfig) => {
  const publicUrl = Option.getOrUndefined(config.publicUrl)
  return Layer.unwrap(
    Effect.map(openIdOf(config), (settings) =>
      signInRoutes({
        isOn: config.console !== "off",
        proxies: trustedProxies(config.trustedProxies),
        isSecure: hasTls(config),
        publicUrl,
        languageModel: config.llm.provider !== "none",
        openId: settings && { settings, publicUrl: config.console === "remote" ? publicUrl : undefined }
      })
    )
  ).pipe(Layer.provide(SecureRandom.layerWebCrypto))
}

/** Whether callers reach the service by TLS, as its public URL says. */
const hasTls = ({ publicUrl }: ServerConfig): boolean => Option.exists(publicUrl, (url) => url.startsWith("https:"))

/** Operators would send their sessions in the clear. */
class ConsoleExposed extends Data.TaggedError("ConsoleExposed") {
  override readonly message =
    "MUNIMENT_CONSOLE: remote needs TLS: set MUNIMENT_PUBLIC_URL to the https URL of the service"
}

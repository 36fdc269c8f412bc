/**
 * Runs the service: `runServer` until interrupted, `withLocalServer` and `withOwnServer` for a command that needs a server
 * for a moment.
 *
 * Start: configuration, directory lock, control.db and its migrations (`ServerLayer.ts`), listener, operator's
 * account. Namespaces open at their first use. Stop: the listener closes, requests in flight finish, files close.
 */
import { createServer } from "node:net"
import { Clock, Context, Data, Duration, Effect, Layer, Option, Redacted, References } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { firstOperator } from "@muniment/domain/Operator"
import { type MicroCredits, toCredits } from "@muniment/domain/Money"
import { loadHnswlib } from "@muniment/engine/vectors/planner/PlannedIndex"
import { Accounts } from "@muniment/control/accounts/Accounts"
import { ApiKeyStore } from "@muniment/control/accounts/ApiKeyStore"
import { Admission } from "./admission/Admission.ts"
import { routesOf } from "./AppRoutes.ts"
import type { ServiceHooks } from "./cluster/ClusterNode.ts"
import { type ClusterSettings, clusterSettings } from "./cluster/ClusterSettings.ts"
import { ServerConfig, monthlyAllowanceOf, serviceLogger } from "./Config.ts"
import { ConsoleLinks } from "./console/ConsoleSessions.ts"
import { DataDirectory, demandInstallation, readLockNote, readOperatorToken } from "./DataDirectory.ts"
import { maxBodySize } from "./http/Middleware.ts"
import type { Address } from "./http/ListenAddress.ts"
import { listener } from "./http/Listener.ts"
import { refusalHeaders } from "./http/CrossOrigin.ts"
import { logRequest } from "./http/RequestLog.ts"
import { routePattern } from "./http/Routes.ts"
import { tracing } from "./http/Tracing.ts"
import { localOrigin, trustedProxies } from "./identity/ClientAddress.ts"
import { OperatorService } from "./operator/OperatorService.ts"
import { pathOf } from "./paths.ts"
import { groundedLayer, serverLayer } from "./ServerLayer.ts"

/** State of the service once it listens. */
export interface BootReport {
  readonly url: string
  readonly dataDirectory: string
  /** Only if this start created it; stored as a hash. */
  readonly operatorKey?: string | undefined
  readonly docsUrl: string
  /** Signs the operator in to the console, once; undefined: the console is off. */
  readonly consoleUrl: string | undefined
  readonly warnings: ReadonlyArray<string>
  /** Credits that each account but the operator's may spend in a month for nothing; null: nothing is charged. */
  readonly monthlyAllowance: number | null
  readonly bootMillis: number
}

interface LocalEndpoint {
  readonly url: string
  /** Operator token of the data directory. */
  readonly token: string
}

const operatorAccountName = "operator"

/** Serves until interrupted; calls `onReady` once it listens. No span: it would be the parent of all others. */
export const runServer = Effect.fnUntraced(function* (options: {
  readonly onReady: (report: BootReport) => Effect.Effect<void>
}) {
  const config = yield* ServerConfig
  const settings = yield* clusterSettings(config)
  return yield* Effect.scoped(
    Effect.gen(function* () {
      if (settings !== undefined) return yield* serveNode(config, settings, options.onReady)
      const report = yield* serve(config, yield* Clock.monotonicTimeNanos)
      yield* options.onReady(report)
      return yield* Effect.never
    })
  ).pipe(Effect.provideService(References.MinimumLogLevel, config.logLevel))
})

/**
 * Uses the server of the configured data directory, or one of this process on a free loopback port; never makes an
 * installation.
 */
export const withLocalServer = Effect.fnUntraced(function* <A, E, R>(
  use: (endpoint: LocalEndpoint) => Effect.Effect<A, E, R>
) {
  const config = yield* ServerConfig
  const running = yield* runningServer(config)
  if (running !== undefined) return yield* use(running)
  if ((yield* clusterSettings(config)) !== undefined) return yield* new NodeAbsent({ path: config.dataDirectory })
  yield* demandInstallation(config.dataDirectory)
  return yield* serveMeanwhile(config, use)
})

/** Uses a server of this process on the configured data directory, which nobody else may use; makes an installation. */
export const withOwnServer = Effect.fnUntraced(function* <A, E, R>(
  use: (endpoint: LocalEndpoint) => Effect.Effect<A, E, R>
) {
  return yield* serveMeanwhile(yield* ServerConfig, use)
})

/** On a free loopback port. */
const serveMeanwhile = <A, E, R>(config: ServerConfig, use: (endpoint: LocalEndpoint) => Effect.Effect<A, E, R>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const port = yield* freePort
      const startedNanos = yield* Clock.monotonicTimeNanos
      const report = yield* serve({ ...config, host: "127.0.0.1", port, logLevel: "Error" }, startedNanos)
      return yield* use({ url: report.url, token: yield* tokenOf(config) })
    })
  ).pipe(Effect.provideService(References.MinimumLogLevel, "Error"))

/** One spelling for each path; the defaults of the router ignore case and slashes. */
const exactPaths = {
  caseSensitive: true,
  ignoreTrailingSlash: false,
  ignoreDuplicateSlashes: false,
  // Length of the longest request line: a long id is an unknown memory, not an unknown route.
  maxParamLength: 16_384
} as const

const serve = Effect.fnUntraced(function* (config: ServerConfig, startedNanos: bigint) {
  const hnswlib = yield* hnswlibFor(config)
  const services = yield* Layer.build(appOver(config, serverLayer(config, hnswlib), config))
  const server = Context.get(services, HttpServer.HttpServer)
  const port = server.address._tag === "UnixPathAddress" ? config.port : server.address.port
  const url = localOrigin(config.host, port)
  const directory = Context.get(services, DataDirectory)
  yield* directory.announce({ pid: process.pid, url, startedAt: yield* Clock.currentTimeMillis })
  return yield* Effect.provide(afterListening(config, url, startedNanos), services)
})

/** Serves as a node of a cluster; the code of it is loaded only there. */
const serveNode = Effect.fnUntraced(function* (
  config: ServerConfig,
  settings: ClusterSettings,
  onReady: (report: BootReport) => Effect.Effect<void>
) {
  const startedNanos = yield* Clock.monotonicTimeNanos
  const hnswlib = yield* hnswlibFor(config)
  const { runNode } = yield* Effect.promise(() => import("./cluster/ClusterNode.ts"))
  const url = localOrigin(config.host, config.port)
  const report = bootReport(config, url, startedNanos)
  return yield* runNode({
    config,
    settings,
    hnswlib,
    build: (ground, hooks) =>
      Effect.gen(function* () {
        const services = yield* Layer.build(
          appOver(config, groundedLayer(config, hnswlib, ground), ofNobody, { url, ...hooks })
        )
        return yield* Effect.provide(afterListening(config, url, startedNanos), services)
      }),
    onReady: (made) => Effect.flatMap(made === undefined ? report : Effect.succeed(made), onReady),
    mustBeShown: ({ operatorKey }) => operatorKey !== undefined
  }).pipe(Effect.provide(serviceLogger))
})

/** Callers come by the front of the node. */
const ofNobody: Address = { host: "127.0.0.1", port: 0 }

const hnswlibFor = ({ index }: ServerConfig) =>
  index === "hnsw" ? Effect.promise(() => loadHnswlib()) : Effect.undefined

/** The service over its layers, listening at `address`. */
const appOver = <A, E>(
  config: ServerConfig,
  layers: Layer.Layer<A, E>,
  address: Address,
  front?: { readonly url: string } & ServiceHooks
) =>
  HttpRouter.serve(routesOf(config, front?.url), {
    disableLogger: true,
    disableListenLog: true,
    routerConfig: exactPaths
  }).pipe(
    Layer.provideMerge(listener(address, front?.adopt)),
    Layer.provide(Layer.effectDiscard(Effect.addFinalizer(() => front?.drained ?? Effect.void))),
    Layer.provideMerge(
      Admission.layer({
        headersFor: refusalHeaders(config.corsOrigins),
        routeOf: ({ method = "", url = "" }) => routePattern(method, pathOf(url)),
        logRequest: config.requestLog === "on" ? logRequest : undefined,
        trustedProxies: trustedProxies(config.trustedProxies),
        host: config.host,
        queueWaitMillis: config.queueWaitMillis
      })
    ),
    Layer.provideMerge(layers),
    Layer.provide(maxBodySize),
    Layer.provide(Layer.merge(serviceLogger, tracing(config.otlpUrl, config.serviceName)))
  )

const afterListening = Effect.fnUntraced(function* (config: ServerConfig, url: string, startedNanos: bigint) {
  const operator = yield* OperatorService
  const operatorKey = yield* ensureOperator(config)
  const { warnings } = yield* operator.status
  const consoleLink = yield* (yield* ConsoleLinks).make(firstOperator)
  const report = yield* bootReport(config, url, startedNanos)
  return { ...report, operatorKey, consoleUrl: consoleLink?.url, warnings }
})

const shownAllowance = (allowance: MicroCredits | undefined): number | null =>
  allowance === undefined ? null : toCredits(allowance)

/** Facts about the start that every node knows. */
const bootReport = (config: ServerConfig, url: string, startedNanos: bigint): Effect.Effect<BootReport> =>
  Effect.map(Clock.monotonicTimeNanos, (nowNanos) => ({
    url,
    dataDirectory: config.dataDirectory,
    monthlyAllowance: shownAllowance(monthlyAllowanceOf(config)),
    docsUrl: `${url}/docs`,
    consoleUrl: undefined,
    warnings: [],
    bootMillis: Number(nowNanos - startedNanos) / 1e6
  }))

/** A command cannot be a node of the cluster for a moment. */
class NodeAbsent extends Data.TaggedError("NodeAbsent")<{ readonly path: string }> {
  override get message(): string {
    return `no node of the cluster runs on ${this.path} (MUNIMENT_DATA_DIR), and MUNIMENT_DATABASE_URL is set: start one, or name a running one with MUNIMENT_URL`
  }
}

/** `MUNIMENT_BOOTSTRAP_KEY` cannot be the operator's key. */
class BootstrapKeyRefused extends Data.TaggedError("BootstrapKeyRefused")<{ readonly reason: string }> {
  override get message(): string {
    return `MUNIMENT_BOOTSTRAP_KEY: ${this.reason}`
  }
}

/** The operator's account and its first key; returns the key if this start created it. */
const ensureOperator = Effect.fnUntraced(function* (config: ServerConfig) {
  const accounts = yield* Accounts
  const keys = yield* ApiKeyStore
  const account = yield* accounts.ensure(operatorAccountName, "owner")
  const given = Option.map(config.bootstrapKey, Redacted.value)
  if (Option.isSome(given)) {
    yield* keys
      .create(account, "bootstrap", given.value)
      .pipe(Effect.mapError(({ error }) => new BootstrapKeyRefused({ reason: error })))
    return undefined
  }
  const existing = yield* keys.list(account.id)
  return existing.length > 0 ? undefined : (yield* keys.create(account, "first start")).secret
})

/** The endpoint of the process that holds the directory's lock, if it answers. */
const runningServer = Effect.fnUntraced(function* (config: ServerConfig) {
  const note = readLockNote(config.dataDirectory)
  if (note === undefined) return undefined
  const answers = yield* Effect.tryPromise(() => fetch(`${note.url}/health/live`)).pipe(
    Effect.timeout(Duration.seconds(2)),
    Effect.match({ onSuccess: (response) => response.ok, onFailure: () => false })
  )
  return answers ? { url: note.url, token: yield* tokenOf(config) } : undefined
})

const tokenOf = (config: ServerConfig): Effect.Effect<string> =>
  Effect.sync(() =>
    Option.match(config.operatorToken, {
      onSome: Redacted.value,
      onNone: () => readOperatorToken(config.dataDirectory) ?? ""
    })
  )

/** A port that was free a moment ago. */
const freePort = Effect.callback<number>((resume) => {
  const probe = createServer()
  probe.listen(0, "127.0.0.1", () => {
    const address = probe.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    probe.close(() => resume(Effect.succeed(port)))
  })
})

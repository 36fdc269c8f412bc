/**
 * The layer graph: the only place that combines engine, models, ledger and the HTTP contract. Gives
 * the command line two ways in: `runServer` until told to stop, and `withLocalServer` for a command
 * that needs a server for a moment.
 *
 * Start: configuration, directory lock, control.db and its migrations, operator account, listen.
 * Namespaces open at their first use. Stop: the listener closes, requests under way finish, files
 * close.
 */
import { createServer } from "node:net"
import { Clock, Duration, Effect, Layer, Logger, Option, Redacted, References } from "effect"
import { SecureRandom } from "effect/crypto"
import { HttpRouter, HttpServer } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { MunimentApi } from "@muniment/domain/api/MunimentApi"
import { credits } from "@muniment/domain/Money"
import { loadHnswlib, type HnswlibModule } from "@muniment/engine/index/Hnswlib"
import { MemorySearch } from "@muniment/engine/MemorySearch"
import { NamespaceHost } from "@muniment/engine/NamespaceHost"
import { type CostBook, measureCosts, typicalCosts } from "@muniment/engine/index/IndexCosts"
import { loadKernels } from "@muniment/engine/index/Kernels"
import { SlabPool } from "@muniment/engine/index/Slab"
import { sqliteNamespaceStore } from "@muniment/engine/store/SqliteNamespaceStore"
import { MemoryMap } from "@muniment/insight/map/MemoryMap"
import { Accounts } from "@muniment/ledger/Accounts"
import { ApiKeyStore } from "@muniment/ledger/ApiKeyStore"
import { ControlDatabase } from "@muniment/ledger/ControlDatabase"
import { IdempotencyStore } from "@muniment/ledger/IdempotencyStore"
import { JobLog } from "@muniment/ledger/JobLog"
import { Ledger } from "@muniment/ledger/Ledger"
import { ModelUsage } from "@muniment/ledger/ModelUsage"
import { PaymentJournal } from "@muniment/ledger/PaymentJournal"
import { NamespaceDirectory } from "@muniment/ledger/NamespaceDirectory"
import { SchemaRegistry } from "@muniment/ledger/SchemaRegistry"
import { GrantRevocations } from "@muniment/ledger/GrantRevocations"
import { Wallets } from "@muniment/ledger/Wallets"
import { Embedder } from "@muniment/models/Embedder"
import { Payments } from "@muniment/payments/Payments"
import { SchemaValidator } from "@muniment/schemas/SchemaValidator"
import { layerRpc } from "@muniment/trust/ContractWallets"
import { grantPrefix } from "@muniment/trust/Grant"
import { KeyRing } from "@muniment/trust/KeyRing"
import { SignatureVerifier } from "@muniment/trust/SignatureVerifier"
import { AttestationService } from "./attestations/AttestationService.ts"
import { ServerConfig } from "./Config.ts"
import { ChargedCalls } from "./credits/ChargedCalls.ts"
import { OpenCharges } from "./credits/OpenCharges.ts"
import { PaymentDesk } from "./credits/PaymentDesk.ts"
import { DataDirectory, readLockNote, readOperatorToken } from "./DataDirectory.ts"
import { ConversationExtraction } from "./extraction/ConversationExtraction.ts"
import { extractionDeadline, languageModelLayer } from "./extraction/LanguageModel.ts"
import { accountHandlers } from "./http/AccountHandlers.ts"
import { adminHandlers } from "./http/AdminHandlers.ts"
import { attestationsHandlers, keyFileRoutes } from "./http/AttestationsHandlers.ts"
import { authorization, operatorAuthorization } from "./http/Authorization.ts"
import { charging } from "./http/Charging.ts"
import { crossOrigin } from "./http/CrossOrigin.ts"
import { creditsHandlers } from "./http/CreditsHandlers.ts"
import { bodyLimit, maxBodySize } from "./http/BodyLimit.ts"
import { envelope } from "./http/Envelope.ts"
import { idempotency } from "./http/Idempotency.ts"
import { listener } from "./http/Listener.ts"
import { memoriesHandlers } from "./http/MemoriesHandlers.ts"
import { moneyAdminHandlers } from "./http/MoneyAdminHandlers.ts"
import { originRoutes } from "./http/Origin.ts"
import { rateLimiting } from "./http/RateLimits.ts"
import { schemasHandlers } from "./http/SchemasHandlers.ts"
import { validation, wellFormedJson } from "./http/Validation.ts"
import { mcpRoutes } from "./mcp/McpRoutes.ts"
import { Housekeeping } from "./jobs/Housekeeping.ts"
import { Reembed } from "./jobs/Reembed.ts"
import { StorageInsurance } from "./jobs/StorageInsurance.ts"
import { KnownKinds } from "./memories/KnownKinds.ts"
import { MemoryCreation } from "./memories/MemoryCreation.ts"
import { MemoryService } from "./memories/MemoryService.ts"
import { QueryEmbedding } from "./memories/QueryEmbedding.ts"
import { OperatorService } from "./operator/OperatorService.ts"
import { MemoryRecall } from "./sharing/MemoryRecall.ts"
import { SearchModes } from "./sharing/SearchModes.ts"
import { SharedAccess } from "./sharing/SharedAccess.ts"

/** What there is to say once the service listens. */
export interface BootReport {
  readonly url: string
  readonly dataDirectory: string
  /** Only when this start made it: it is stored as a hash. */
  readonly operatorKey?: string | undefined
  readonly docsUrl: string
  readonly warnings: ReadonlyArray<string>
  readonly bootMillis: number
}

export interface LocalEndpoint {
  readonly url: string
  /** Operator token of the data directory. */
  readonly token: string
}

export const operatorAccountName = "operator"

/** Serves until interrupted; `onReady` is told once, when requests are taken. */
export const runServer = Effect.fn("App.runServer")(function* (options: {
  readonly onReady: (report: BootReport) => Effect.Effect<void>
}) {
  const config = yield* ServerConfig
  return yield* Effect.scoped(
    Effect.gen(function* () {
      const report = yield* serve(config, performance.now())
      yield* options.onReady(report)
      return yield* Effect.never
    })
  ).pipe(Effect.provideService(References.MinimumLogLevel, config.logLevel))
})

/** Uses the server of the configured data directory, or one of this process on a free loopback port. */
export const withLocalServer = Effect.fn("App.withLocalServer")(function* <A, E, R>(
  use: (endpoint: LocalEndpoint) => Effect.Effect<A, E, R>
) {
  const config = yield* ServerConfig
  const running = yield* runningServer(config)
  if (running !== undefined) return yield* use(running)
  return yield* Effect.scoped(
    Effect.gen(function* () {
      const port = yield* freePort
      const report = yield* serve({ ...config, host: "127.0.0.1", port, logLevel: "Error" }, performance.now())
      return yield* use({ url: report.url, token: yield* tokenOf(config) })
    })
  ).pipe(Effect.provideService(References.MinimumLogLevel, "Error"))
})

/** The layer graph of one server, without its listener. */
export const serverLayer = (config: ServerConfig, hnswlib: HnswlibModule | undefined) => {
  const records = Layer.mergeAll(
    Accounts.layer,
    ApiKeyStore.layerWith({ keyPrefix: config.apiKeyPrefix }),
    SchemaRegistry.layer,
    NamespaceDirectory.layer,
    Wallets.layer,
    GrantRevocations.layer,
    IdempotencyStore.layer,
    Ledger.layer({ monthlyAllowance: credits(config.monthlyAllowanceCredits) }),
    JobLog.layer,
    ModelUsage.layer
  )
  const storage = PaymentJournal.layer.pipe(
    Layer.provideMerge(records),
    Layer.provideMerge(ControlDatabase.layer(config.dataDirectory))
  )
  const trust = Layer.mergeAll(
    KeyRing.layer(config.dataDirectory),
    SignatureVerifier.layer.pipe(
      Layer.provide(Option.match(config.evmRpcUrl, { onNone: () => Layer.empty, onSome: layerRpc }))
    )
  )
  const { serviceName } = config
  const issuer = Option.getOrElse(config.issuer, () => serviceName)
  return Layer.mergeAll(
    OperatorService.layer({ hnswlib, index: config.index }),
    MemoryCreation.layer.pipe(
      Layer.provide(ConversationExtraction.layer({ deadlineMillis: extractionDeadline(config.llm) }))
    ),
    SearchModes.layer.pipe(Layer.provideMerge(MemoryRecall.layer)),
    Housekeeping.layer,
    ChargedCalls.layer,
    // What a crash left held is decided before the daily job looks at balances.
    StorageInsurance.layer.pipe(Layer.provide(OpenCharges.layer))
  ).pipe(
    Layer.provideMerge(PaymentDesk.layer({ publicUrl: Option.getOrUndefined(config.publicUrl) })),
    Layer.provideMerge(paymentsLayer(config.payments)),
    Layer.provideMerge(
      Layer.mergeAll(
        AttestationService.layer({ serviceName, issuer }),
        SharedAccess.layer({ grantPrefixes: [grantPrefix(serviceName), ...config.grantPrefixes] })
      )
    ),
    Layer.provideMerge(MemoryService.layer),
    Layer.provideMerge(Layer.mergeAll(languageModelLayer(config.llm), MemoryMap.layer)),
    Layer.provideMerge(Reembed.layer),
    Layer.provideMerge(Layer.mergeAll(KnownKinds.layer, QueryEmbedding.layer)),
    Layer.provideMerge(Layer.mergeAll(engineLayer(config, hnswlib), embedderLayer(config), SchemaValidator.layer)),
    Layer.provideMerge(Layer.mergeAll(storage, trust).pipe(Layer.provide(SecureRandom.layerWebCrypto))),
    Layer.provideMerge(
      DataDirectory.layer({
        path: config.dataDirectory,
        operatorToken: Option.getOrUndefined(config.operatorToken)
      })
    )
  )
}

const engineLayer = (config: ServerConfig, hnswlib: HnswlibModule | undefined) =>
  MemorySearch.layer.pipe(
    Layer.provideMerge(
      Layer.unwrap(
        Effect.map(indexSettings(config, hnswlib), (index) =>
          NamespaceHost.layer({ dataDirectory: config.dataDirectory, index, openMax: config.openNamespacesMax })
        )
      )
    ),
    Layer.provide(sqliteNamespaceStore(config.dataDirectory, { commitsOn: "thread" }))
  )

const indexSettings = (config: ServerConfig, hnswlib: HnswlibModule | undefined) =>
  Effect.gen(function* () {
    const slabs = new SlabPool(loadKernels())
    const costs: CostBook = { current: typicalCosts }
    // Nobody waits for it, and a service that is stopped meanwhile ends it.
    yield* Effect.forkScoped(calibrate(costs, slabs))
    return { hnswlib, pin: config.index, slabs, costs }
  })

/** Measures what searches cost on this machine, between other work, and writes it down. */
const calibrate = (costs: CostBook, slabs: SlabPool) =>
  Effect.gen(function* () {
    yield* Effect.sleep(calibrationDelay)
    const steps = measureCosts(slabs.take(), () => performance.now())
    for (;;) {
      const step = steps.next()
      if (step.done === true) {
        costs.current = step.value
        return yield* Effect.logInfo("costs of vector searches, microseconds", costs.current)
      }
      yield* Effect.yieldNow
    }
  })

/** Not while the service starts. */
const calibrationDelay = "5 seconds"

const embedderLayer = (config: ServerConfig) =>
  config.embeddingModel === "none"
    ? Embedder.layerUnavailable
    : Embedder.layer({
        modelsDir: config.modelsDirectory,
        modelId: config.embeddingModel === "auto" ? undefined : config.embeddingModel
      })

/** Without networks no code of payments is loaded. */
const paymentsLayer = ({ confirmations, evm, facilitatorUrl, networks, solana }: ServerConfig["payments"]) =>
  networks.length === 0
    ? Payments.layerNone
    : Payments.layer({
        networks,
        evm: familyOf(evm),
        solana: familyOf(solana),
        facilitatorUrl: Option.getOrUndefined(facilitatorUrl),
        confirmations
      })

const familyOf = ({ operatorKey, payTo, rpcUrl }: ServerConfig["payments"]["evm"]) => ({
  payTo: Option.getOrUndefined(payTo),
  operatorKey: Option.getOrUndefined(operatorKey),
  rpcUrl: Option.getOrUndefined(rpcUrl)
})

const routesOf = (config: ServerConfig) => {
  const { keyFileAliases, monthlyAllowanceCredits, rateLimits, serviceName, walletPlan } = config
  const middleware = Layer.mergeAll(
    bodyLimit,
    authorization({ walletPlan }),
    operatorAuthorization,
    rateLimiting({ isOn: rateLimits === "on" }),
    wellFormedJson,
    validation,
    idempotency,
    charging
  )
  const handlers = Layer.mergeAll(
    memoriesHandlers,
    schemasHandlers,
    attestationsHandlers,
    accountHandlers,
    creditsHandlers({ monthlyAllowance: credits(monthlyAllowanceCredits) }),
    adminHandlers,
    moneyAdminHandlers
  )
  return Layer.mergeAll(
    HttpApiBuilder.layer(MunimentApi).pipe(Layer.provide(handlers), Layer.provide(middleware)),
    mcpRoutes(config).pipe(Layer.provide(middleware)),
    keyFileRoutes([serviceName, ...keyFileAliases]),
    originRoutes,
    crossOrigin(config.corsOrigins),
    envelope
  )
}

/** One spelling for each path (interface.md section 1): the router's own defaults forgive case and slashes. */
const exactPaths = {
  caseSensitive: true,
  ignoreTrailingSlash: false,
  ignoreDuplicateSlashes: false,
  // As long as a request line can be: an id of any length is one that is not found, never a route that is not.
  maxParamLength: 16_384
} as const

const serve = Effect.fnUntraced(function* (config: ServerConfig, startedMillis: number) {
  const hnswlib = config.index === "hnsw" ? yield* Effect.promise(() => loadHnswlib()) : undefined
  const app = HttpRouter.serve(routesOf(config), {
    disableLogger: true,
    disableListenLog: true,
    routerConfig: exactPaths
  }).pipe(
    Layer.provideMerge(listener(config)),
    Layer.provideMerge(serverLayer(config, hnswlib)),
    Layer.provide(maxBodySize),
    Layer.provide(Logger.layer([process.stdout.isTTY ? Logger.consolePretty() : Logger.consoleJson]))
  )
  const services = yield* Layer.build(app)
  return yield* Effect.provide(afterListening(config, startedMillis), services)
})

const afterListening = Effect.fnUntraced(function* (config: ServerConfig, startedMillis: number) {
  const server = yield* HttpServer.HttpServer
  const directory = yield* DataDirectory
  const operator = yield* OperatorService
  const port = server.address._tag === "UnixPathAddress" ? config.port : server.address.port
  const url = `http://${config.host === "0.0.0.0" ? "127.0.0.1" : config.host}:${port}`
  yield* directory.announce({ pid: process.pid, url, startedAt: yield* Clock.currentTimeMillis })
  const operatorKey = yield* ensureOperator(config)
  const { warnings } = yield* operator.status
  return {
    url,
    dataDirectory: directory.path,
    operatorKey,
    docsUrl: `${url}/docs`,
    warnings,
    bootMillis: performance.now() - startedMillis
  } satisfies BootReport
})

/** The operator's account and its first key; the key if this start made it. */
const ensureOperator = Effect.fnUntraced(function* (config: ServerConfig) {
  const accounts = yield* Accounts
  const keys = yield* ApiKeyStore
  const account = yield* accounts.ensure(operatorAccountName, "owner")
  const given = Option.map(config.bootstrapKey, Redacted.value)
  if (Option.isSome(given)) {
    yield* keys.create(account, "bootstrap", given.value)
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

/**
 * The layer graph of one server without its listener: the only place that combines engine, control, models and trust.
 * Layers from top to bottom; each uses the ones below it.
 */
import { Clock, Data, Effect, Layer, Option } from "effect"
import { SecureRandom } from "effect/crypto"
import { HttpServerRequest } from "effect/http"
import { Limits } from "@muniment/domain/Limits"
import { type HnswlibModule } from "@muniment/engine/vectors/planner/PlannedIndex"
import { AccountEvents } from "./events/AccountEvents.ts"
import { AccountSignals } from "./events/AccountSignals.ts"
import { CopyFailed, FileCopies } from "@muniment/backup/copies/FileCopies"
import { MemorySearch } from "@muniment/engine/search/MemorySearch"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { StoredBytes } from "@muniment/engine/namespace/StorageMeter"
import { toClientError } from "@muniment/engine/namespace/toClientError"
import { NamespaceStore } from "@muniment/engine/store/NamespaceStore"
import type { StoreError } from "@muniment/engine/store/StoreError"
import type { ControlDatabase } from "@muniment/control/database/ControlDatabase"
import { type CostBook, measureCosts, typicalCosts } from "@muniment/engine/vectors/planner/Planner"
import { loadKernels } from "@muniment/engine/vectors/arena/Kernels"
import { SlabPool } from "@muniment/engine/vectors/arena/Slab"
import { MemoryMap } from "@muniment/insight/map/MemoryMap"
import { AuditLog } from "@muniment/control/audit/AuditLog"
import { AccountErasures } from "@muniment/control/accounts/AccountErasures"
import { Accounts, Quotas } from "@muniment/control/accounts/Accounts"
import { ApiKeyStore } from "@muniment/control/accounts/ApiKeyStore"
import { Operators } from "@muniment/control/accounts/Operators"
import { IdempotencyStore } from "@muniment/control/requests/IdempotencyStore"
import { ConsolidationLog, JobLog } from "@muniment/control/jobs/JobLog"
import { Ledger } from "@muniment/control/credits/Ledger"
import { AgentCosts, Revenue, Statements } from "@muniment/control/credits/Statements"
import { ModelUsage } from "@muniment/control/accounts/ModelUsage"
import { MoneyEvents } from "@muniment/control/payments/MoneyEvents"
import { PaymentJournal } from "@muniment/control/payments/PaymentJournal"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import { SchemaRegistry } from "@muniment/control/accounts/SchemaRegistry"
import { GrantRevocations } from "@muniment/control/accounts/GrantRevocations"
import { Wallets } from "@muniment/control/accounts/Wallets"
import { AccountHooks } from "@muniment/control/webhooks/AccountHooks"
import { WebhookOutbox } from "@muniment/control/webhooks/WebhookOutbox"
import { Embedder } from "@muniment/models/Embedder"
import { ModelWait } from "@muniment/models/llm/ModelCalls"
import { Payments } from "@muniment/payments/Payments"
import { SchemaValidator } from "@muniment/schemas/SchemaValidator"
import { layerRpc } from "@muniment/trust/ContractWallets"
import { grantPrefix } from "@muniment/trust/Grant"
import { KeyRing, keyFileName } from "@muniment/trust/KeyRing"
import { SignatureVerifier } from "@muniment/trust/SignatureVerifier"
import { RoundBook } from "@muniment/worker/RoundBook"
import { Rounds } from "@muniment/worker/Rounds"
import { leaveLane } from "./admission/Gate.ts"
import { AttestationService } from "./attestations/AttestationService.ts"
import { storeLayers } from "./CommitLogs.ts"
import { booksOptionsOf, type ServerConfig } from "./Config.ts"
import { Consolidation } from "./consolidation/Consolidation.ts"
import { ChargedCalls } from "./credits/ChargedCalls.ts"
import { OpenCharges } from "./credits/OpenCharges.ts"
import { PaymentDesk, PaymentReceipts } from "./credits/PaymentDesk.ts"
import { RefundDesk } from "./credits/RefundDesk.ts"
import { DataDirectory, operatorTokenName } from "./DataDirectory.ts"
import { ConversationExtraction } from "./extraction/ConversationExtraction.ts"
import { extractionDeadline, extractorChoice } from "./extraction/ExtractorChoice.ts"
import { demandFreeAddress } from "./http/ListenAddress.ts"
import { AccountQuotas, AgentCounts } from "./memories/AccountFigures.ts"
import { CallsUnderWay } from "./identity/CallsUnderWay.ts"
import { JobClock } from "./jobs/JobClock.ts"
import { serviceAudience } from "./identity/ClientAddress.ts"
import { Housekeeping } from "./jobs/Housekeeping.ts"
import { PendingConversations } from "./jobs/PendingConversations.ts"
import { Scrubber } from "./jobs/Scrubber.ts"
import { VectorBacklog } from "./jobs/VectorBacklog.ts"
import { StorageInsurance } from "./jobs/StorageInsurance.ts"
import { KnownKinds } from "./memories/KnownKinds.ts"
import { StorageUse } from "./memories/StorageUse.ts"
import { MemoryService } from "./memories/MemoryService.ts"
import { TextEmbedding } from "./memories/TextEmbedding.ts"
import { AccountEraser } from "./operator/AccountEraser.ts"
import { AgentIndexes } from "./operator/AgentIndexes.ts"
import { LastBackup } from "./operator/LastBackup.ts"
import { OwnBackups } from "./operator/OwnBackups.ts"
import { OperatorService } from "./operator/OperatorService.ts"
import { MemoryChat } from "./context/MemoryChat.ts"
import { MemoryContext } from "./context/MemoryContext.ts"
import { Subjects } from "./context/Subjects.ts"
import { CallerSearch } from "./search/CallerSearch.ts"
import { SharedAccess } from "./search/SharedAccess.ts"
import { HookDeliveries } from "./webhooks/HookDeliveries.ts"
import { WebhookDeliveries } from "./webhooks/WebhookDeliveries.ts"
import { webhookEndpoint } from "./webhooks/WebhookSettings.ts"

/** The service, its layers from top to bottom. */
export const serverLayer = (config: ServerConfig, hnswlib: HnswlibModule | undefined) =>
  groundedLayer(config, hnswlib, filesGround(config, hnswlib))

/** Stores under the service: files of its directory on one machine, what the nodes share on several. */
export interface Ground<Control, Namespaces, Directory, Copies> {
  readonly control: Layer.Layer<ControlDatabase, Control>
  readonly namespaces: Layer.Layer<NamespaceHost, Namespaces, JobClock | NamespaceDirectory>
  /** For the sums of bytes by account. */
  readonly bytes: Layer.Layer<StoredBytes, Namespaces, NamespaceDirectory>
  readonly directory: Layer.Layer<DataDirectory, Directory>
  readonly embedder: Layer.Layer<Embedder>
  /** For `muniment backup`. */
  readonly copies: Layer.Layer<FileCopies, Copies, NamespaceHost>
  readonly keepKeys?: (text: string) => Effect.Effect<void>
}

const filesGround = (config: ServerConfig, hnswlib: HnswlibModule | undefined) => {
  const stores = storeLayers(config.dataDirectory)
  return {
    control: stores.control,
    namespaces: namespacesLayer(config, hnswlib).pipe(Layer.provide(stores.namespaces)),
    bytes: Layer.effect(
      StoredBytes,
      Effect.map(NamespaceStore, ({ storedBytes }) => ({ of: storedBytes }))
    ).pipe(Layer.provide(stores.namespaces)),
    // The address after the lock, and before the models: a start that cannot succeed ends at once.
    directory: Layer.effectDiscard(demandFreeAddress(config)).pipe(
      Layer.provideMerge(
        DataDirectory.layer({
          path: config.dataDirectory,
          operatorToken: Option.getOrUndefined(config.operatorToken)
        })
      )
    ),
    embedder: embedderLayer(config),
    copies: copiesLayer(config)
  }
}

export const groundedLayer = <Control, Namespaces, Directory, Copies>(
  config: ServerConfig,
  hnswlib: HnswlibModule | undefined,
  ground: Ground<Control, Namespaces, Directory, Copies>
) =>
  stopsFirst.pipe(
    Layer.provideMerge(callsLayer(config, hnswlib, ground.copies)),
    Layer.provideMerge(moneyLayer(config)),
    Layer.provideMerge(trustServicesLayer(config)),
    Layer.provideMerge(MemoryService.layer),
    Layer.provideMerge(
      Layer.mergeAll(
        extractorChoice(config.llm, config.consolidation, config.payments.networks.length > 0).pipe(
          Layer.provide(placeGivenUp)
        ),
        MemoryMap.layer
      )
    ),
    Layer.provideMerge(VectorBacklog.layer),
    Layer.provideMerge(Layer.mergeAll(KnownKinds.layer, TextEmbedding.layer)),
    Layer.provideMerge(Layer.mergeAll(engineLayer(ground), ground.embedder, SchemaValidator.layer)),
    Layer.provideMerge(
      trustLayer(config, ground.keepKeys).pipe(
        Layer.provideMerge(controlLayer(config, ground.control)),
        Layer.provide(SecureRandom.layerWebCrypto)
      )
    ),
    Layer.provideMerge(ground.directory),
    Layer.provideMerge(RoundBook.layer())
  )

/** Background work ends before what it works with, all of it within one bound. */
const stopsFirst = Layer.effectDiscard(Effect.flatMap(RoundBook.current, ({ stop }) => Effect.addFinalizer(() => stop)))

/** Gives up the place in admission while a request waits for the language model. */
const placeGivenUp = Layer.succeed(
  ModelWait,
  Effect.map(Effect.serviceOption(HttpServerRequest.HttpServerRequest), (request) =>
    Option.isSome(request) ? leaveLane(request.value.source) : undefined
  )
)

/** Services that handlers and jobs call. */
const callsLayer = <E>(
  config: ServerConfig,
  hnswlib: HnswlibModule | undefined,
  copies: Layer.Layer<FileCopies, E, NamespaceHost>
) =>
  Layer.mergeAll(
    OperatorService.layer({ hnswlib, index: config.index }),
    AgentIndexes.layer,
    MemoryChat.layer.pipe(
      Layer.provideMerge(MemoryContext.layer),
      Layer.provideMerge(CallerSearch.layer(config).pipe(Layer.provide(rerankerLayer(config))))
    ),
    Subjects.layer,
    Housekeeping.layer,
    Consolidation.layer,
    ChargedCalls.layer,
    // Charges left open by a crash are decided before the daily job reads balances.
    StorageInsurance.layer.pipe(Layer.provide(OpenCharges.layer)),
    // Likewise before an erasure closes the ledger of its account.
    AccountEraser.layer.pipe(Layer.provide(OpenCharges.layer))
  ).pipe(
    Layer.provideMerge(HookDeliveries.layer(config.accountWebhooks)),
    Layer.provideMerge(AccountEvents.layer),
    // Copies for `muniment backup`, and when the last one was made.
    Layer.provideMerge(OwnBackups.layer(config.backup)),
    Layer.provideMerge(Layer.merge(copies, LastBackup.layer)),
    Layer.provideMerge(Scrubber.layer(config.scrub)),
    Layer.provideMerge(Layer.merge(AccountQuotas.layer, AgentCounts.layer)),
    Layer.provideMerge(CallsUnderWay.layer),
    Layer.provideMerge(PendingConversations.layer),
    Layer.provideMerge(
      ConversationExtraction.layer({
        deadlineMillis: extractionDeadline(config.llm),
        patienceMillis: config.readingWaitMillis,
        remember: config.remember,
        llm: config.llm
      })
    )
  )

/** Nothing of it is loaded unless one is configured. */
const rerankerLayer = ({ modelsDirectory, reranker }: ServerConfig): Layer.Layer<never> =>
  Option.isNone(reranker)
    ? Layer.empty
    : Layer.unwrap(
        Effect.map(
          Effect.promise(() => import("@muniment/models/RerankThread")),
          ({ rerankerLayer: threadOf }) =>
            threadOf({ model: reranker.value, modelsDir: modelsDirectory, patienceMillis: Limits.rerankMillisMax })
        )
      )

const copiesLayer = ({ dataDirectory }: ServerConfig) =>
  Layer.unwrap(
    Effect.map(NamespaceHost, (host) =>
      FileCopies.layer({
        directory: dataDirectory,
        secrets: [keyFileName, operatorTokenName],
        settle: host.settleAll,
        log: {
          synced: Effect.map(host.status, ({ log }) => log?.syncedOrdinal),
          archive: (afterOrdinal, path) => Effect.mapError(host.archive(afterOrdinal, path), asCopyFailed)
        }
      })
    )
  )

/** A record that cannot be read is damage of the log, and no reason to make no backup. */
const asCopyFailed = (error: StoreError): CopyFailed => {
  if (error._tag === "StoreDamaged") return new CopyFailed({ reason: "corrupt", message: error.reason })
  const { error: message } = toClientError(error)
  return new CopyFailed({ reason: error._tag === "StoreFull" ? "full" : "other", message })
}

const moneyLayer = ({ payments, publicUrl, webhook }: ServerConfig) =>
  Layer.mergeAll(PaymentDesk.layer({ publicUrl: Option.getOrUndefined(publicUrl) }), RefundDesk.layer).pipe(
    Layer.provideMerge(PaymentReceipts.layer({ publicUrl: Option.getOrUndefined(publicUrl) })),
    Layer.provideMerge(paymentsLayer(payments)),
    Layer.provideMerge(Layer.unwrap(Effect.map(webhookEndpoint(webhook), WebhookDeliveries.layer)))
  )

const trustServicesLayer = ({ grantPrefixes, issuer, serviceName, ...config }: ServerConfig) =>
  Layer.mergeAll(
    AttestationService.layer({ serviceName, issuer: Option.getOrElse(issuer, () => serviceName) }),
    SharedAccess.layer({
      grantPrefixes: [grantPrefix(serviceName), ...grantPrefixes],
      audience: serviceAudience(config).ofGrants
    })
  )

/** Everything that is kept in control.db. */
const controlLayer = <E>(config: ServerConfig, database: Layer.Layer<ControlDatabase, E>) =>
  Layer.mergeAll(
    PaymentJournal.layerWith({ hasWebhook: Option.isSome(config.webhook.url) }),
    WebhookOutbox.layer,
    MoneyEvents.layer,
    AccountHooks.layer,
    Statements.layer,
    Revenue.layer,
    AgentCosts.layer
  ).pipe(
    Layer.provideMerge(
      Layer.mergeAll(
        Accounts.layer,
        AccountErasures.layer,
        AuditLog.layer,
        ApiKeyStore.layerWith({ keyPrefix: config.apiKeyPrefix }),
        Operators.layer,
        SchemaRegistry.layer,
        NamespaceDirectory.layer,
        Wallets.layer,
        GrantRevocations.layer,
        IdempotencyStore.layer,
        Ledger.layer(booksOptionsOf(config)),
        JobClock.layer.pipe(Layer.provideMerge(JobLog.layer)),
        ConsolidationLog.layer,
        ModelUsage.layer
      )
    ),
    Layer.provideMerge(Quotas.layer),
    Layer.provideMerge(database)
  )

const trustLayer = (
  { dataDirectory, erc1271, evmRpcUrl }: ServerConfig,
  keepKeys: ((text: string) => Effect.Effect<void>) | undefined
) =>
  Layer.mergeAll(
    KeyRing.layer(dataDirectory, keepKeys),
    SignatureVerifier.layer.pipe(
      Layer.provide(
        erc1271 === "off"
          ? Layer.empty
          : Option.match(evmRpcUrl, {
              onNone: () => Layer.effectDiscard(new ContractWalletsMisconfigured()),
              onSome: layerRpc
            })
      )
    )
  )

/** Contract wallets are checked by a node of their chain, and none is configured. */
class ContractWalletsMisconfigured extends Data.TaggedError("ContractWalletsMisconfigured") {
  override readonly message = "MUNIMENT_ERC1271: on needs a node: set MUNIMENT_EVM_RPC_URL"
}

const engineLayer = <E>({
  bytes,
  namespaces
}: {
  readonly bytes: Layer.Layer<StoredBytes, E, NamespaceDirectory>
  readonly namespaces: Layer.Layer<NamespaceHost, E, JobClock | NamespaceDirectory>
}) =>
  MemorySearch.layer.pipe(
    Layer.provideMerge(namespaces),
    Layer.provideMerge(Layer.mergeAll(StorageUse.layer, AccountSignals.layer)),
    Layer.provide(bytes)
  )

const namespacesLayer = (config: ServerConfig, hnswlib: HnswlibModule | undefined) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const { expiresBy } = yield* JobClock
      const index = yield* indexSettings(config, hnswlib)
      const { dataDirectory, openNamespacesMax: openMax } = config
      return NamespaceHost.layer({ dataDirectory, index, openMax, expiresBy })
    })
  )

export const indexSettings = (config: ServerConfig, hnswlib: HnswlibModule | undefined) =>
  Effect.gen(function* () {
    const slabs = new SlabPool(loadKernels())
    const costs: CostBook = { current: typicalCosts }
    yield* Rounds.once({ name: "costs of vector searches", work: calibrate(costs, slabs) })
    return { hnswlib, pin: config.index, slabs, costs }
  })

/** Measures the costs of vector searches on this machine, in the background, and replaces `typicalCosts`. */
const calibrate = (costs: CostBook, slabs: SlabPool) =>
  Effect.gen(function* () {
    yield* Effect.sleep(calibrationDelay)
    const clock = yield* Clock.Clock
    const steps = measureCosts(slabs.take(), () => Number(clock.monotonicTimeNanosUnsafe()) / 1e6)
    for (;;) {
      const step = steps.next()
      if (step.done === true) {
        costs.current = step.value
        return yield* Effect.logInfo("costs of vector searches, microseconds", costs.current)
      }
      yield* Effect.yieldNow
    }
  })

/** Later than the start of the service. */
const calibrationDelay = "5 seconds"

export const embedderLayer = (config: ServerConfig) =>
  config.embeddingModel === "none"
    ? Embedder.layerUnavailable
    : Embedder.layer({
        modelsDir: config.modelsDirectory,
        modelId: config.embeddingModel === "auto" ? undefined : config.embeddingModel,
        threads: Option.getOrUndefined(config.embeddingThreads)
      })

/** Without networks the code of payments is not loaded. */
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

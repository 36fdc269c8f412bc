/**
 * A node of a cluster in this process. It always serves the namespaces that are its part, and takes callers; while it owns
 * `control.db` it also runs the service over the namespaces of all nodes, else it hands callers to the node that does.
 * When the owner stops or loses its lease another node takes over.
 *
 * Invariant: the files of the directory are copies; what is acknowledged is in the shared log.
 */
import { randomBytes } from "node:crypto"
import { existsSync, rmSync } from "node:fs"
import type { Server } from "node:http"
import { join } from "node:path"
import { Clock, Context, Deferred, Effect, Exit, Layer, Option, Redacted, Schedule, Scope } from "effect"
import { controlFile } from "@muniment/backup/BackupFormat"
import { CopyFailed, FileCopies } from "@muniment/backup/copies/FileCopies"
import { openTarget } from "@muniment/backup/target/openTarget"
import { BaseStore, packedBases } from "@muniment/cluster/bases/BaseStore"
import { ControlTenure, controlTag, replicatedControl } from "@muniment/cluster/control/ReplicatedControl"
import { demandHere } from "@muniment/cluster/log/MoveMarks"
import { untilDatabaseAnswers } from "@muniment/cluster/log/LogDatabase"
import { openPostgresLog, type PostgresLog } from "@muniment/cluster/log/PostgresLog"
import type { SharedSecrets } from "@muniment/cluster/log/SharedSecrets"
import { sweepDaily } from "@muniment/cluster/nodes/BaseSweep"
import { clusterBytesLayer, clusterHostLayer } from "@muniment/cluster/nodes/ClusterHost"
import { clusterNodeLayer } from "@muniment/cluster/nodes/ClusterNode"
import { LocalHost } from "@muniment/cluster/nodes/LocalHost"
import { namespaceEntityLayer, Residents } from "@muniment/cluster/nodes/NamespaceEntity"
import { agentDigest, replicatedStore, StoreHandOver } from "@muniment/cluster/store/ReplicatedStore"
import { controlUnavailable } from "@muniment/control/database/ControlFailure"
import { EarlierOwners, type EarlierOwnersShape } from "@muniment/control/credits/LeftCharges"
import type { NewTransfer } from "@muniment/control/credits/Transfers"
import { AgentArrival } from "@muniment/control/accounts/NamespaceDirectory"
import type { HnswlibModule } from "@muniment/engine/vectors/planner/PlannedIndex"
import { logFolder } from "@muniment/engine/log/segmentFiles"
import { Embedder } from "@muniment/models/Embedder"
import { checkBuiltinKinds } from "@muniment/schemas/SchemaValidator"
import { keyFileName } from "@muniment/trust/KeyRing"
import { replacePrivateFile } from "@muniment/trust/PrivateFile"
import { Rounds } from "@muniment/worker/Rounds"
import type { ServerConfig } from "../Config.ts"
import { localOrigin } from "../identity/ClientAddress.ts"
import { DataDirectory, DirectoryUnusable, operatorTokenName } from "../DataDirectory.ts"
import { demandFreeAddress } from "../http/ListenAddress.ts"
import { tracing } from "../http/Tracing.ts"
import { embedderLayer, type Ground, indexSettings } from "../ServerLayer.ts"
import { ClusterFront } from "./ClusterFront.ts"
import { type ClusterSettings, linkAddress, nodeName } from "./ClusterSettings.ts"

/** Between two looks who owns `control.db` while that is in doubt, and whether this node still does. */
const lookEachMillis = 250
/** Between two looks who owns it while its owner takes callers: each is a statement of the database. */
const lookAgainMillis = 1_000
/** For what a leaving node does for the next owners; callers are served meanwhile. */
const handOverMillis = 5_000
/** Time after which a message to another node is done or never will be: longer than any waits for its answer. */
const lateMillis = 60_000
/** Before the service is tried again after it could not start, as while the database is away. */
const againMillis = 1_000

/** The service of an owner, built in the scope that it is given, over `ground`. */
type BuildService<A, E> = (ground: NodeGround, hooks: ServiceHooks) => Effect.Effect<A, E, Scope.Scope>

export interface ServiceHooks {
  /** Gets its server. */
  readonly adopt: (server: Server) => void
  /** Runs when it ends, once all that it had taken is answered. */
  readonly drained: Effect.Effect<void>
}

type NodeGround = Ground<unknown, unknown, never, never>

interface NodeOptions<A, E> {
  readonly config: ServerConfig
  readonly settings: ClusterSettings
  readonly hnswlib: HnswlibModule | undefined
  readonly build: BuildService<A, E>
  /** This node serves for the first time, or another one does and this one hands callers to it. */
  readonly onReady: (report: A | undefined) => Effect.Effect<void>
  /** Also when it was ready before. */
  readonly mustBeShown: (report: A) => boolean
}

/** Runs the node until it is interrupted. No span: it would be the parent of all others. */
export const runNode = Effect.fnUntraced(function* <A, E>(options: NodeOptions<A, E>) {
  const { config, settings } = options
  const node = yield* openNode(config, settings, options.hnswlib)
  const front = yield* ClusterFront.open({
    secret: settings.secret,
    address: config,
    links: linkAddress(nodeName(settings))
  })
  const url = localOrigin(config.host, config.port)
  yield* node.directory.announce({ pid: process.pid, url, startedAt: yield* Clock.currentTimeMillis })
  const ready = reportReady(options.onReady, options.mustBeShown)
  const watched = Effect.suspend(() => {
    const told = node.log.signals.next()
    const doubted = Effect.andThen(front.inDoubt, Effect.sleep(lookEachMillis))
    return Effect.andThen(
      watchOwner(node, front, settings, ready),
      Effect.timeoutOption(Effect.raceFirst(told, doubted), lookAgainMillis)
    )
  })
  yield* Rounds.add({
    name: "looks who serves",
    schedule: Schedule.forever,
    work: watched,
    isFirstNow: true,
    isCut: true,
    again: Effect.sleep(lookAgainMillis)
  })
  // While the front still carries callers to the node that serves.
  yield* Effect.addFinalizer(() =>
    Effect.andThen(Effect.all([node.leave, front.depart], { concurrency: 2 }), front.answered)
  )
  const term = serveWhileOwner(node, front, options.build, ready)
  return yield* Effect.catchCause(term, (cause) =>
    Effect.logWarning("this node could not serve; it tries again", cause).pipe(Effect.delay(againMillis))
  ).pipe(Effect.repeat(Schedule.forever))
})

/** State that a node has for its whole life. */
interface Node {
  readonly config: ServerConfig
  readonly log: PostgresLog
  readonly bases: BaseStore["Service"]
  readonly secrets: SharedSecrets
  readonly directory: DataDirectory["Service"]
  /** Folder of the node's copies. */
  readonly files: string
  readonly namespaces: NodeGround["namespaces"]
  readonly bytes: NodeGround["bytes"]
  readonly embedder: Embedder["Service"]
  /** Before a planned end, while it still serves its agents; once. */
  readonly handOver: Effect.Effect<void>
  /** Its agents go to other nodes; after its end as the owner of `control.db`. */
  readonly leave: Effect.Effect<void>
}

const openNode = Effect.fnUntraced(function* (
  config: ServerConfig,
  settings: ClusterSettings,
  hnswlib: HnswlibModule | undefined
) {
  const { dataDirectory } = config
  // Callers wait while the next owner starts, 130 ms longer if it compiles the meta-schemas then.
  yield* Effect.sync(checkBuiltinKinds)
  yield* demandNodeDirectory(dataDirectory)
  yield* demandFreeAddress(config)
  const log = yield* openPostgresLog({ url: settings.databaseUrl, node: nodeName(settings) })
  yield* untilDatabaseAnswers(log.withDatabase(demandHere))
  const secrets = log.secretsUnder(settings.secret)
  // Also of a cluster whose operator gives the token: it tells another secret than the cluster's apart.
  const shared = yield* untilDatabaseAnswers(
    secrets.ensure(operatorTokenName, () => randomBytes(32).toString("base64url"))
  )
  const operatorToken = Option.getOrElse(config.operatorToken, () => Redacted.make(shared))
  const directory = Context.get(
    yield* Layer.build(DataDirectory.layer({ path: dataDirectory, operatorToken })),
    DataDirectory
  )
  replacePrivateFile(join(dataDirectory, operatorTokenName), `${Redacted.value(operatorToken)}\n`)
  const bases = Context.get(yield* Layer.build(packedBases(yield* openTarget(settings.bases))), BaseStore)
  const files = join(dataDirectory, nodeFolder)
  const engine = Layer.unwrap(
    Effect.map(indexSettings(config, hnswlib), (index) =>
      LocalHost.layer({
        dataDirectory: files,
        index,
        openMax: config.openNamespacesMax,
        isCurrent: (tag) => log.isCurrent(tag),
        eraseAgent: (key) => log.eraseAgent(key.tag, agentDigest(key))
      })
    )
  ).pipe(Layer.provideMerge(replicatedStore({ directory: files, log, bases })))
  const shards = clusterNodeLayer({
    databaseUrl: settings.databaseUrl,
    secret: settings.secret,
    host: settings.host,
    port: settings.port,
    signals: log.signals
  })
  const membership = yield* Effect.acquireRelease(Scope.make(), (scope, exit) => Scope.close(scope, exit))
  const context = yield* Layer.build(
    namespaceEntityLayer.pipe(
      // A message has the span of the request that it is part of.
      Layer.provide(tracing(config.otlpUrl, config.serviceName)),
      Layer.provideMerge(Layer.mergeAll(engine, Residents.layer)),
      Layer.provideMerge(shards),
      Layer.provideMerge(embedderLayer(config))
    )
  ).pipe(Scope.provide(membership))
  const { handOver: published } = Context.get(context, StoreHandOver)
  const handOver = yield* Effect.cached(Effect.asVoid(Effect.timeoutOption(published, handOverMillis)))
  const own = Layer.succeedContext(context)
  return {
    config,
    log,
    bases,
    secrets,
    directory,
    files,
    namespaces: clusterHostLayer.pipe(Layer.provide(own)),
    bytes: clusterBytesLayer.pipe(Layer.provide(own)),
    embedder: Context.get(context, Embedder),
    handOver,
    leave: leaving(handOver, membership)
  } satisfies Node
})

const leaving = (handOver: Effect.Effect<void>, membership: Scope.Closeable): Effect.Effect<void> => {
  const parting = new Parting("this node has left the cluster")
  return parting.begin.pipe(
    Effect.andThen(handOver),
    Effect.andThen(parting.mark("handOverMillis")),
    Effect.andThen(Scope.close(membership, Exit.void)),
    Effect.andThen(parting.end("closeMillis"))
  )
}

/** Folder of the node's copies, in the data directory. */
const nodeFolder = "node"

/** A node throws away the copies that it finds: the data of one machine must not be taken for them. */
const demandNodeDirectory = (path: string): Effect.Effect<void, DirectoryUnusable> =>
  existsSync(join(path, controlFile)) || existsSync(join(path, logFolder))
    ? Effect.fail(
        new DirectoryUnusable({
          path,
          cause: new Error("it holds the data of a service on one machine; give the node a directory of its own")
        })
      )
    : Effect.void

/** One term: waits until no other node owns `control.db`, serves, and ends when this node does not own it any more. */
const serveWhileOwner = <A, E>(
  node: Node,
  front: ClusterFront,
  build: NodeOptions<A, E>["build"],
  ready: (report: A) => Effect.Effect<void>
) =>
  Effect.scopedWith((scope) =>
    Effect.gen(function* () {
      let server: Server | undefined
      const parting = new Parting("this node has left the service to others")
      yield* Scope.addFinalizer(scope, parting.end("releaseMillis"))
      const tenure = yield* Deferred.make<ControlTenure["Service"]>()
      const report = yield* Scope.provide(
        build(groundOf(node, tenure, parting.mark("servicesMillis")), {
          adopt: (made) => {
            server = made
          },
          drained: parting.mark("drainMillis")
        }),
        scope
      )
      // Before the service closes: nobody is handed to a server that ends.
      yield* Scope.addFinalizer(
        scope,
        Effect.andThen(
          parting.mark("handOverMillis"),
          Effect.sync(() => front.leave())
        )
      )
      if (server !== undefined) front.serveHere(server)
      yield* Effect.logInfo("this node serves the cluster")
      yield* ready(report)
      const { handOver, isCurrent, lost } = yield* Deferred.await(tenure)
      yield* Scope.addFinalizer(
        scope,
        Effect.andThen(
          parting.begin,
          Effect.suspend(() =>
            isCurrent()
              ? Effect.all([Effect.timeoutOption(handOver, handOverMillis), node.handOver], { concurrency: 2 })
              : Effect.void
          )
        )
      )
      yield* node.log.withDatabase(Scope.provide(sweepDaily(node.bases), scope))
      yield* Effect.raceFirst(Effect.exit(lost), untilOver(isCurrent))
      yield* Effect.logWarning("another node may serve the cluster now; this one hands callers to it")
    })
  )

/** An ended lease begins again as another one. */
const untilOver = (isCurrent: () => boolean): Effect.Effect<void> =>
  Effect.suspend(() => (isCurrent() ? Effect.delay(untilOver(isCurrent), lookEachMillis) : Effect.void))

/** `tenure` is told when this node owns `control.db`; `ended` runs when the services above it have ended. */
const groundOf = (
  node: Node,
  tenure: Deferred.Deferred<ControlTenure["Service"]>,
  ended: Effect.Effect<void>
): NodeGround => ({
  control: Layer.effectDiscard(
    Effect.gen(function* () {
      // A move that this claim has waited for may have taken the data away.
      yield* node.log.withDatabase(demandHere)
      // The keys after the claim: until then the last owner may replace them.
      yield* bringKeys(node)
      yield* Deferred.succeed(tenure, yield* ControlTenure)
      yield* Effect.addFinalizer(() => ended)
    })
  ).pipe(
    Layer.provideMerge(replicatedControl({ directory: node.files, log: node.log, bases: node.bases })),
    Layer.merge(Layer.succeed(EarlierOwners, earlierOwners(node))),
    Layer.merge(
      Layer.succeed(AgentArrival, (entry) =>
        // As of a change of `control.db`, which follows.
        Effect.mapError(node.log.readmitAgent(controlTag, entry.tag, agentDigest(entry)), controlUnavailable)
      )
    )
  ),
  namespaces: node.namespaces,
  bytes: node.bytes,
  directory: Layer.succeed(DataDirectory, node.directory),
  embedder: Layer.succeed(Embedder, node.embedder),
  copies: noCopies,
  // Without the database nothing is signed with a key that the next owner would not have.
  keepKeys: (text) => Effect.orDie(Effect.mapError(node.secrets.set(keyFileName, text), controlUnavailable))
})

/** Earlier owners, by texts in the database of the cluster. */
const earlierOwners = ({ log: { leftTexts } }: Node): EarlierOwnersShape => ({
  leave: (charges) => (charges.length === 0 ? Effect.void : leftTexts.leave(JSON.stringify(charges))),
  left: Effect.suspend(() => leftTexts.left).pipe(
    Effect.map((texts) =>
      texts.map(({ id, text }) => ({ id, charges: JSON.parse(text) as ReadonlyArray<NewTransfer> }))
    ),
    Effect.mapError(controlUnavailable)
  ),
  forget: (id) => Effect.mapError(leftTexts.forget(id), controlUnavailable),
  lateMillis
})

/** The keys of attestations, for the file that `KeyRing` reads. */
const bringKeys = ({ directory, secrets }: Node) =>
  Effect.map(secrets.get(keyFileName), (text) => {
    const path = join(directory.path, keyFileName)
    if (text === undefined) rmSync(path, { force: true })
    else replacePrivateFile(path, text)
  })

/** The files of a node are copies of a part. */
const noCopies = Layer.succeed(FileCopies, {
  marks: Effect.fail(noBackup()),
  copy: () => Effect.fail(noBackup()),
  isKnown: () => false,
  demandHere: Effect.fail(noBackup())
})

function noBackup() {
  return new CopyFailed({
    reason: "elsewhere",
    message: "a cluster is backed up by its PostgreSQL, then its folder or bucket of bases, with their own tools"
  })
}

const watchOwner = <A>(
  { log }: Node,
  front: ClusterFront,
  settings: ClusterSettings,
  ready: (report: A | undefined) => Effect.Effect<void>
): Effect.Effect<void> =>
  log.ownerOf(controlTag).pipe(
    Effect.flatMap((owner) => {
      const other = owner === undefined || owner === nodeName(settings) ? undefined : linkAddress(owner)
      front.follow(other)
      return other === undefined ? Effect.void : ready(undefined)
    }),
    // The last known owner may still be right; a node that does not answer refuses.
    Effect.catch((fault) => Effect.logDebug("who serves the cluster cannot be asked", { reason: fault.message }))
  )

/** Durations of the parts of a planned end, in one line of the log. Nothing is said of an end that has not begun. */
class Parting {
  readonly #sentence: string
  #atMillis: number | undefined
  readonly #parts: Record<string, number> = {}

  constructor(sentence: string) {
    this.#sentence = sentence
  }

  readonly begin = Effect.map(Clock.currentTimeMillis, (nowMillis) => void (this.#atMillis = nowMillis))

  /** The end of a part that began with the end of the one before. */
  mark(part: string): Effect.Effect<void> {
    return Effect.map(Clock.currentTimeMillis, (nowMillis) => {
      if (this.#atMillis === undefined) return
      this.#parts[part] = nowMillis - this.#atMillis
      this.#atMillis = nowMillis
    })
  }

  /** With the last part. */
  end(part: string): Effect.Effect<void> {
    return Effect.andThen(
      this.mark(part),
      Effect.suspend(() => (this.#atMillis === undefined ? Effect.void : Effect.logInfo(this.#sentence, this.#parts)))
    )
  }
}

/**
 * Report that a node is ready: at its first term or when it first hands callers to another node; later again only with
 * what must not be lost. The operator's first key is shown once, and the node that makes it may have been ready before:
 * the first owner of a new cluster can end before it makes the key.
 *
 * -> for each term its report, for each hand-over nothing.
 */
export const reportReady = <A>(
  onReady: (report: A | undefined) => Effect.Effect<void>,
  mustBeShown: (report: A) => boolean
): ((report: A | undefined) => Effect.Effect<void>) => {
  let isReady = false
  return (report) =>
    Effect.suspend(() => {
      if (isReady && (report === undefined || !mustBeShown(report))) return Effect.void
      isReady = true
      return onReady(report)
    })
}

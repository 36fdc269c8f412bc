/**
 * This node as a member of the cluster: Effect Cluster divides namespaces and accounts among the nodes by shards, whose
 * locks and heartbeats are in PostgreSQL. Nodes speak to each other over TLS under the cluster's secret (`NodeSockets.ts`).
 */
import { layerFrom, make } from "@effect/sql-pg/PgClient"
import { Layer, Option, type Redacted } from "effect"
import { MessageStorage, RunnerAddress, RunnerHealth, Runners, ShardingConfig, SocketRunner } from "effect/cluster"
import { RpcSerialization } from "effect/rpc"
import type { NodeSignals } from "../log/NodeSignals.ts"
import { nodeClientProtocol, nodeSocketServer } from "./NodeSockets.ts"
import { shardCount, shardSessions } from "./shardCount.ts"
import { shardLocksLayer } from "./ShardLocks.ts"

export interface ClusterNodeOptions {
  readonly databaseUrl: Redacted.Redacted
  /** All nodes have the same; random, 32 bytes of entropy at least. */
  readonly secret: Redacted.Redacted
  /** Where the other nodes reach this one. */
  readonly host: string
  readonly port: number
  /** Where it listens; default: `host` and `port`. */
  readonly listenHost?: string
  /** Milliseconds until the shards of a node that has lost the database, or stands still, go to others; default 15 s. */
  readonly lockExpiryMillis?: number
  /** By which nodes learn at once who joins and leaves. */
  readonly signals: NodeSignals
}

/** Below Effect's defaults (10 s, 35 s), so that a frozen node is replaced sooner. */
const defaultExpiryMillis = 15_000

/** One for the session of the locks, the others for heartbeats. */
const connections = 4

/** What a node tells another at once, in bytes: a portion of an import with its vectors. */
const messageBytesMax = 268_435_456

/** Provides `Sharding` and joins the cluster; leaves it when the scope closes. */
export const clusterNodeLayer = (options: ClusterNodeOptions) => {
  const expiryMillis = options.lockExpiryMillis ?? defaultExpiryMillis
  const config = {
    runnerAddress: Option.some(RunnerAddress.make(options.host, options.port)),
    runnerListenAddress: Option.map(Option.fromUndefinedOr(options.listenHost), (host) =>
      RunnerAddress.make(host, options.port)
    ),
    shardsPerGroup: shardCount,
    shardLockRefreshInterval: expiryMillis / 3,
    shardLockExpiration: expiryMillis,
    // A look waits by itself (`ShardLocks.ts`).
    refreshAssignmentsInterval: 20,
    runnerHealthCheckInterval: 2_000,
    entityTerminationTimeout: 5_000,
    sendRetryInterval: 50
  }
  const database = layerFrom(
    make({
      url: options.databaseUrl,
      maxConnections: connections,
      connectTimeout: expiryMillis / 3,
      applicationName: shardSessions
    })
  )
  const runners = shardLocksLayer(options.signals).pipe(Layer.provide(database))
  const client = nodeClientProtocol(options.secret)
  const health = RunnerHealth.layerPing.pipe(Layer.provide(Runners.layerRpc), Layer.provide(client))
  return SocketRunner.layer.pipe(
    Layer.provide([nodeSocketServer(options.secret), client, health]),
    Layer.provide([runners, MessageStorage.layerNoop]),
    Layer.provide(ShardingConfig.layer(config)),
    Layer.provide(RpcSerialization.layerSchemaBinary({ maxFrameSize: messageBytesMax }))
  )
}

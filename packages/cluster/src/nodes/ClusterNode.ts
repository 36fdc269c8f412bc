/**
 * This node as a member of the cluster: Effect Cluster divides namespaces among the nodes by shards, whose
 * locks and heartbeats are in PostgreSQL. Nodes speak to each other over TLS under the cluster's secret (`NodeSockets.ts`).
 */
import { layerFrom, make } from "@effect/sql-pg/PgClient"
import { Layer, Option, type Redacted } from "effect"
import { MessageStorage, RunnerAddress, RunnerHealth, Runners, ShardingConfig, SocketRunner } from "effect/cluster"
import { RpcSerialization } from "effect/rpc"
import type { NodeSignals } from "../log/NodeSignals.ts"
import { nodeClientProtocol, nodeSocketServer } from "./NodeSockets.ts"
import { shardCount, shardSessions } from "./clusterStatus.ts"
import { shardLocksLayer } from "./ShardLocks.ts"

interface ClusterNodeOptions {
  readonly databaseUrl: Redacted.Redacted
  /** All nodes have the same; random, 32 bytes of entropy at least. */
  readonly secret: Redacted.Redacted
  /** Where this node listens, and the other nodes reach it. */
  readonly host: string
  readonly port: number
  /** By which nodes learn at once who joins and leaves. */
  readonly signals: NodeSignals
}

/**
 * Until the shards of a node that has lost the database, or stands still, go to others. Below Effect's default of 35 s, so
 * that a frozen node is replaced sooner.
 */
const lockExpiryMillis = 15_000

/** One for the session of the locks, the others for heartbeats. */
const connections = 4

/** Largest message between nodes, in bytes: a portion of an import with its vectors. */
const messageBytesMax = 268_435_456

/** Provides `Sharding` and joins the cluster; leaves it when the scope closes. */
export const clusterNodeLayer = (options: ClusterNodeOptions) => {
  const config = {
    runnerAddress: Option.some(RunnerAddress.make(options.host, options.port)),
    shardsPerGroup: shardCount,
    shardLockRefreshInterval: lockExpiryMillis / 3,
    shardLockExpiration: lockExpiryMillis,
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
      connectTimeout: lockExpiryMillis / 3,
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

/** What `muniment cluster status` asks: the database of `MUNIMENT_DATABASE_URL`, and no node. */
import { Effect, Option } from "effect"
import { clusterStatus } from "@muniment/cluster/nodes/clusterStatus"
import { logDatabase } from "@muniment/cluster/log/LogDatabase"
import { ClusterVariables } from "../Config.ts"
import { ClusterMisconfigured } from "./ClusterSettings.ts"

export const readClusterStatus = Effect.gen(function* () {
  const { databaseUrl } = yield* ClusterVariables
  if (Option.isNone(databaseUrl))
    return yield* new ClusterMisconfigured({ message: "MUNIMENT_DATABASE_URL: names the cluster, and is missing" })
  return yield* Effect.provide(clusterStatus, logDatabase(databaseUrl.value, 1))
})

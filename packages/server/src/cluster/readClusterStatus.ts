/** `muniment cluster status` and `cluster reopen`: they ask the database of `MUNIMENT_DATABASE_URL`, and no node. */
import { Effect, Option } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import { clusterStatus } from "@muniment/cluster/nodes/clusterStatus"
import { logDatabase } from "@muniment/cluster/log/LogDatabase"
import { reopen } from "@muniment/cluster/log/MoveMarks"
import { ClusterVariables } from "../Config.ts"
import { ClusterMisconfigured } from "./ClusterSettings.ts"

const asking = <A, E>(question: Effect.Effect<A, E, SqlClient>) =>
  Effect.gen(function* () {
    const { databaseUrl } = yield* ClusterVariables
    if (Option.isNone(databaseUrl))
      return yield* new ClusterMisconfigured({ message: "MUNIMENT_DATABASE_URL: names the cluster, and is missing" })
    return yield* Effect.provide(question, logDatabase(databaseUrl.value, 1))
  })

export const readClusterStatus = asking(clusterStatus)

/** -> whether its data had been moved away. */
export const reopenCluster = asking(reopen)

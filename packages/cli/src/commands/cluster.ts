/** `muniment cluster`: how a cluster is, and the end of a move away, by its PostgreSQL; no node is asked. */
import { Console, Effect } from "effect"
import { Command } from "effect/cli"
import type { ClusterStatus } from "@muniment/cluster/nodes/clusterStatus"
import { withStartFailure } from "../StartFailure.ts"
import { table } from "../ShownText.ts"
import { flags } from "./flags.ts"

const status = Command.make(
  "status",
  { json: flags.json },
  Effect.fn("cluster.status")(function* ({ json }) {
    const { readClusterStatus } = yield* Effect.promise(() => import("@muniment/server/cluster/readClusterStatus"))
    const found = yield* Effect.catchCause(readClusterStatus, (cause) => Effect.failCause(withStartFailure(cause)))
    if (json) return yield* Console.log(JSON.stringify(found))
    const { control, movedTo, nodes, shards, strays, tails } = found
    const rows = nodes.map(({ agents, leaseMillis, name }) => [
      name,
      leaseMillis > 0 ? `${(leaseMillis / 1_000).toFixed(1)} s` : "ended",
      String(agents),
      name === control.owner ? "owns control.db" : ""
    ])
    yield* Console.log(
      [
        ...(movedTo === null ? [] : [`Its data was moved into ${movedTo.directory} on ${movedTo.host}.`, ""]),
        table([["NODE", "LEASE", "AGENTS", ""], ...rows]),
        "",
        `control.db: ${control.owner === null ? "nobody owns it" : `of ${control.owner}`}; ${behindText(control)}`,
        `Shards: ${shards.held} of ${shards.of} are held, by ${shards.holders} nodes.`,
        `Agents whose bases are behind: ${tails.agents}; ${behindText(tails)}`,
        ...tails.longest.map((tail) => `  ${tail.tag}  ${behindText(tail)}`),
        `Bases that no row points to: ${strays.waiting}; ${sweepText(strays.sweep)}`
      ].join("\n")
    )
  })
).pipe(
  Command.withDescription("Nodes, leases, shards, the owner of control.db, and what of the log no base has yet"),
  Command.withExamples([{ command: "muniment cluster status", description: "With MUNIMENT_DATABASE_URL" }])
)

const reopen = Command.make(
  "reopen",
  { json: flags.json },
  Effect.fn("cluster.reopen")(function* ({ json }) {
    const { reopenCluster } = yield* Effect.promise(() => import("@muniment/server/cluster/readClusterStatus"))
    const wasLeft = yield* Effect.catchCause(reopenCluster, (cause) => Effect.failCause(withStartFailure(cause)))
    if (json) return yield* Console.log(JSON.stringify({ reopened: wasLeft }))
    yield* Console.log(
      wasLeft
        ? "The cluster serves again once its nodes start. Never start the service on the directory into which it was moved."
        : "The data of this cluster was not moved away."
    )
  })
).pipe(
  Command.withDescription(
    "Let nodes serve a cluster again whose data was moved into a directory, as it was then and without what the directory has since"
  ),
  Command.withExamples([{ command: "muniment cluster reopen", description: "With MUNIMENT_DATABASE_URL" }])
)

export const cluster = Command.make("cluster").pipe(
  Command.withDescription("How a cluster is, and to reopen one that was moved away"),
  Command.withSubcommands([status, reopen])
)

const kibibyte = 1_024

const behindText = ({ bytes, records }: { readonly bytes: number; readonly records: number }): string =>
  `${records} records, ${(bytes / kibibyte).toFixed(1)} KiB`

const sweepText = (sweep: ClusterStatus["strays"]["sweep"]): string =>
  sweep === null
    ? "nobody has looked for them yet"
    : `${sweep.endedAt === null ? `looked for since ${sweep.begunAt}` : `last looked for ${sweep.endedAt}`}, ${sweep.removed} removed of ${sweep.looked}`

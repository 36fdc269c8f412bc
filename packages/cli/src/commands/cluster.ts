/**
 * `muniment cluster` asks the PostgreSQL of a cluster, and no node; `muniment migrate` moves the data of one machine into
 * a cluster, and of a cluster into a directory.
 */
import { Console, Effect, Option, Redacted, References } from "effect"
import { Command, Flag } from "effect/cli"
import type { ClusterStatus } from "@muniment/cluster/nodes/clusterStatus"
import { CommandFailed, commandFailed } from "../CommandFailed.ts"
import { pathFlag } from "../InputFile.ts"
import { withStartFailure } from "../LocalServer.ts"
import { makeProgress, table } from "../Terminal.ts"
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

const databaseText =
  'postgres://user:password@host:port/database, which other users of this machine see in its list of processes; or "cluster": MUNIMENT_DATABASE_URL'

/** `muniment migrate`: the data of one machine into an empty cluster, and of a cluster into a directory. No service runs. */
export const migrate = Command.make(
  "migrate",
  {
    to: pathFlag(
      "to",
      `Where to: the database of an empty cluster (${databaseText}). With --from: data directory to make; it must be empty or missing`
    ),
    from: pathFlag("from", "Database of the cluster that is moved out, as for --to; none of its nodes may run").pipe(
      Flag.optional
    ),
    bases: pathFlag("bases", "Folder or s3://bucket/prefix of the cluster's bases; default MUNIMENT_BASES").pipe(
      Flag.optional
    ),
    dryRun: Flag.Boolean("dry-run").pipe(
      Flag.withDescription("Look whether it can be moved, and move nothing"),
      Flag.withDefault(false)
    ),
    json: flags.json
  },
  Effect.fn("migrate")(function* ({ bases, dryRun: isDry, from, json, to }) {
    const progress = yield* makeProgress("Copying")
    const onProgress = (done: number, total: number, step: string) => progress.update(done, total, step)
    const settings = yield* settingsOf(
      Option.getOrElse(from, () => to),
      bases
    )
    if (Option.isSome(from)) {
      const { moveOutOfCluster } = yield* loaded(import("@muniment/server/cluster/moveOutOfCluster"))
      const moved = yield* told(moveOutOfCluster({ settings, directory: to, isDry, onProgress }))
      if (json) return yield* Console.log(movedJson(moved, to, isDry))
      return yield* Console.log(
        isDry
          ? `The cluster can be moved into ${to}.`
          : `${sizeText(moved)} are in ${to}, and every memory was read there. Start it with MUNIMENT_DATA_DIR=${to} and without MUNIMENT_DATABASE_URL; do not start a node again.`
      )
    }
    const { moveIntoCluster } = yield* loaded(import("@muniment/server/cluster/moveIntoCluster"))
    const { ServiceAddress } = yield* loaded(import("@muniment/server/Config"))
    const { dataDirectory: directory } = yield* ServiceAddress
    const moved = yield* told(moveIntoCluster({ settings, directory, isDry, onProgress }))
    if (json) return yield* Console.log(movedJson(moved, directory, isDry))
    return yield* Console.log(
      isDry
        ? `${directory} (${sizeText(moved)}) can be moved into the cluster.`
        : `${sizeText(moved)} of ${directory} are in the cluster, and every base was fetched again and is the same. Start its nodes; do not start the service on ${directory} again.`
    )
  }, Effect.scoped)
).pipe(
  Command.withDescription(
    "Move a data directory (MUNIMENT_DATA_DIR) into an empty cluster, or a cluster into a directory. MUNIMENT_CLUSTER_SECRET is the cluster's. What is moved stays where it was, and repeating an interrupted move is safe"
  ),
  Command.withExamples([
    { command: "muniment migrate --to cluster --dry-run", description: "Look whether ./data can be moved" },
    {
      command: "muniment migrate --to postgres://muniment@db/muniment --bases s3://bucket/bases",
      description: "Move ./data into the cluster"
    },
    { command: "muniment migrate --from cluster --to data", description: "Back to one machine" }
  ])
)

/** The cluster's, of the flags and the environment. */
const settingsOf = Effect.fnUntraced(function* (database: string, bases: Option.Option<string>) {
  const { ClusterVariables } = yield* loaded(import("@muniment/server/Config"))
  const { clusterSettings } = yield* loaded(import("@muniment/server/cluster/ClusterSettings"))
  return yield* told(
    Effect.gen(function* () {
      const set = yield* ClusterVariables
      const settings = yield* clusterSettings({
        cluster: {
          ...set,
          databaseUrl: database === "cluster" ? set.databaseUrl : Option.some(Redacted.make(database)),
          bases: Option.orElse(bases, () => set.bases)
        }
      })
      if (settings !== undefined) return settings
      return yield* new CommandFailed({ reason: '"cluster" needs MUNIMENT_DATABASE_URL in the environment.' })
    })
  )
})

const loaded = <A>(module: Promise<A>) => Effect.promise(() => module)

const told = <A, E, R>(step: Effect.Effect<A, E, R>) =>
  step.pipe(
    Effect.catchCause((cause) => Effect.failCause(withStartFailure(cause))),
    Effect.mapError(commandFailed),
    Effect.provideService(References.MinimumLogLevel, "Error")
  )

const mebibyte = 1_048_576

const movedJson = (
  { agents, bytes }: { readonly agents: number; readonly bytes: number },
  directory: string,
  dryRun: boolean
): string => JSON.stringify({ directory, dryRun, agents, bytes })

const sizeText = ({ agents, bytes }: { readonly agents: number; readonly bytes: number }): string =>
  `${agents} ${agents === 1 ? "agent" : "agents"} with ${(bytes / mebibyte).toFixed(1)} MiB`

/** What a fault is, and what it may lay hands on. */
import type { NodeProcess } from "../../../scripts/cluster/ClusterProcesses.ts"
import type { PostgresServer } from "../../../scripts/cluster/PostgresServer.ts"
import type { CutProxy } from "../../support/CutProxy.ts"
import type { ObjectStore } from "../../support/ObjectStore.ts"
import type { NodeMeans } from "../NodeMeans.ts"

export interface Fault {
  readonly name: string
  /** The status that answers "again" while it lasts, beside 409 and 503. */
  readonly again?: number
  /** Resolves when it has happened. */
  readonly strike: (scene: Scene) => Promise<Struck>
}

export interface Struck {
  /** Called when every client is served again: resolves when all is as it was before. */
  readonly heal: () => Promise<unknown>
  /** What comes after it is measured from here; default: the begin of the strike. */
  readonly sinceMillis?: number
  /** Until the process had ended; of a planned stop. */
  readonly exitMillis?: Promise<number>
}

/** A cluster in one round. */
export interface Scene {
  readonly nodes: ReadonlyArray<NodeProcess>
  /** The owner of `control.db`. */
  readonly serving: NodeProcess
  /** One of those that are not. */
  readonly other: NodeProcess
  /** The database of all nodes. */
  readonly postgres: PostgresServer
  /** From now on nodes find another one in its place. */
  readonly replacePostgres: (by: PostgresServer) => void
  /** Of the bases of all nodes. */
  readonly store: ObjectStore
  /** Between a node and the database. */
  readonly databaseLink: (node: NodeProcess) => CutProxy
  readonly means: NodeMeans
  /** Resolves when a node that runs owns `control.db`. */
  readonly servingNow: () => Promise<NodeProcess>
  /** Files of two command lines; nodes begin with the first one. */
  readonly builds: ReadonlyArray<string>
  /** Every client's next write is the first of another agent. */
  readonly newAgents: () => void
  /** Begins now: longer than a lease of 5 s, and sometimes than locks of 15 s. */
  readonly away: () => Promise<unknown>
  /** Counts as an answer that is neither right nor "again". */
  readonly object: (text: string) => void
}

/** A fault of one node: once for the owner of `control.db`, once for another. */
export const ofEachNode = (
  name: (which: "serving" | "other") => string,
  strike: (node: NodeProcess, scene: Scene) => Promise<Struck>,
  more: Pick<Fault, "again"> = {}
): ReadonlyArray<Fault> =>
  (["serving", "other"] as const).map((which) => ({
    ...more,
    name: name(which),
    strike: (scene) => strike(scene[which], scene)
  }))

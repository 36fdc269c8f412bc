/** The peer sqlite-vec, an extension that SQLite loads from its path. */
import { loadPeer } from "./Peers.ts"

export interface SqliteVec {
  readonly getLoadablePath: () => string
}

export const loadSqliteVec = () => loadPeer("sqlite-vec", isSqliteVec)

const isSqliteVec = (loaded: unknown): loaded is SqliteVec =>
  typeof loaded === "object" && loaded !== null && "getLoadablePath" in loaded

/**
 * Where the PostgreSQL of a cluster lies, decided before anything is made. It refuses root and runs as `nobody` then, who
 * has to get there: a folder that was chosen and that only root may enter is refused; for the default one, of a clone that
 * is closed to others, a place beside it is taken, the same at every start.
 */
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, statSync } from "node:fs"
import { dirname, join } from "node:path"
import { postgresIdentity } from "./PostgresServer.ts"

/** Kept over restarts of the machine. */
const openFolder = "/var/tmp"

export const postgresPlace = (directory: string, isChosen: boolean): string => {
  const nearest = nearestOf(directory)
  if (!statSync(nearest).isDirectory()) throw new Error(`${nearest} is not a directory.`)
  if (mayEnter(nearest)) return join(directory, "postgres")
  if (isChosen)
    throw new Error(
      `${firstClosed(nearest)} is open to root alone, and PostgreSQL, which refuses root, runs as the user nobody: open it (chmod o+x) or give another --directory.`
    )
  if (!mayEnter(openFolder))
    throw new Error(
      `PostgreSQL, which refuses root, runs as the user nobody and may enter neither this clone nor ${openFolder}: give a --directory.`
    )
  const name = createHash("sha256").update(directory).digest("hex").slice(0, 16)
  return join(openFolder, `muniment-postgres-${name}`)
}

/** The directory, or the first one above it that is there. */
const nearestOf = (path: string): string => (existsSync(path) ? path : nearestOf(dirname(path)))

const firstClosed = (path: string): string => {
  const above = dirname(path)
  return above === path || mayEnter(above) ? path : firstClosed(above)
}

/** Tried as the user that PostgreSQL runs as: access may be given by more than modes. */
const mayEnter = (path: string): boolean =>
  spawnSync("/bin/sh", ["-c", 'cd "$1"', "sh", path], { ...postgresIdentity, stdio: "ignore" }).status === 0

/** Setting up a cluster of a test: its nodes, their settings, and folders that its PostgreSQL may enter. */
import { chmodSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { ClusterProcesses, type ClusterOptions } from "../../scripts/cluster/ClusterProcesses.ts"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"
import { freePort, operatorKey } from "./TestServer.ts"

/** Three nodes in a directory of their own. */
export const startThreeNodes = (
  operatorToken: string,
  options: Pick<ClusterOptions, "prepare"> = {}
): Promise<ClusterProcesses> => {
  const directory = temporaryDirectory()
  openToPostgres(directory)
  return ClusterProcesses.start({
    directory,
    nodes: 3,
    freePort,
    environment: clusterEnvironment(operatorToken),
    ...options
  })
}

export const clusterEnvironment = (operatorToken: string) => ({
  MUNIMENT_BOOTSTRAP_KEY: operatorKey,
  MUNIMENT_OPERATOR_TOKEN: operatorToken,
  MUNIMENT_EMBEDDING_MODEL: "none",
  MUNIMENT_RATE_LIMITS: "off",
  MUNIMENT_MONTHLY_ALLOWANCE: "1000000",
  MUNIMENT_QUEUE_WAIT_MILLIS: "60000"
})

/** PostgreSQL does not run as root, and its directory is inside. */
export const openToPostgres = (directory: string): void => {
  for (const path of [directory, tmpdir()]) chmodSync(path, statSync(path).mode | 0o055)
}

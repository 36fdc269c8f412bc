/** A PostgreSQL for the tests of a file, and a proxy in front of it. */
import { PostgresServer } from "../../scripts/cluster/PostgresServer.ts"
import { beforeTests } from "./beforeTests.ts"
import { TcpProxy } from "./TcpProxy.ts"

export const usePostgres = (): PostgresServer =>
  beforeTests(
    () => PostgresServer.start(),
    (server) => server.stop()
  )

export const useProxy = (server: PostgresServer): TcpProxy =>
  beforeTests(
    () => TcpProxy.start(server.port),
    (proxy) => proxy.stop()
  )

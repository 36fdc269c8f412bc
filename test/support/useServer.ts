import { expect } from "vitest"
import { beforeTests } from "./beforeTests.ts"
import { type ServerOptions, startServer, type TestServer } from "./TestServer.ts"

/** A server of these tests alone; it ends well. Options may be made when it starts. */
export const useServer = (options: ServerOptions | (() => ServerOptions) = {}): TestServer =>
  beforeTests(
    () => startServer(typeof options === "function" ? options() : options),
    async (server) => expect(await server.stop(), server.output()).toBe(0)
  )

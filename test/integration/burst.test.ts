/** 200 tasks at once through each client. Beside a loop without end: `burst-on-a-busy-machine.long.test.ts`. */
import { afterAll, beforeAll, describe } from "vitest"
import { loseNothing } from "../support/Burst.ts"
import { startServer, type TestServer } from "../support/TestServer.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

describe("200 tasks at once that say something, search and ask for a context lose nothing", () =>
  loseNothing(() => server))

/** 200 tasks at once through each client, on a machine where another program takes all the time it can get. */
import { type ChildProcess, spawn } from "node:child_process"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { loseNothing } from "../support/Burst.ts"
import { startServer, type TestServer } from "../support/TestServer.ts"

let server: TestServer
let loop: ChildProcess
beforeAll(async () => {
  server = await startServer()
  loop = spawn("sh", ["-c", "while :; do :; done"], { stdio: "ignore" })
})
afterAll(async () => {
  loop.kill("SIGKILL")
  await server.stop()
})

describe("200 tasks at once beside a loop without end lose nothing", () => {
  loseNothing(() => server)

  it("while the loop goes on", () => {
    expect([loop.exitCode, loop.signalCode]).toEqual([null, null])
  })
})

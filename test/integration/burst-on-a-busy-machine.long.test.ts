/** 200 tasks at once through each client, on a machine where another program takes all the time it can get. */
import { type ChildProcess, spawn } from "node:child_process"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { loseNothing } from "../support/Burst.ts"
import { useServer } from "../support/useServer.ts"

const server = useServer()
let loop: ChildProcess
beforeAll(async () => {
  loop = spawn("sh", ["-c", "while :; do :; done"], { stdio: "ignore" })
})
afterAll(async () => {
  loop.kill("SIGKILL")
})

describe("200 tasks at once beside a loop without end lose nothing", () => {
  loseNothing(() => server)

  it("while the loop goes on", () => {
    expect([loop.exitCode, loop.signalCode]).toEqual([null, null])
  })
})

/**
 * Backups in a bucket, against a server that speaks the protocol of S3 and verifies every signature: there and back,
 * refusals, and a store that fails for a while.
 */
import { writeFileSync } from "node:fs"
import { createServer, request, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { done, environmentOf, fill, refused, restored, scratch, untilSettled } from "../support/BackupRun.ts"
import { startMuniment } from "../support/CliProcess.ts"
import { filesWith } from "../support/filesWith.ts"
import { s3Environment, type S3Server, startS3Server } from "../support/S3Server.ts"
import { withoutModel } from "../support/SharedServer.ts"
import { patienceMillis, startServer, type TestServer } from "../support/TestServer.ts"

let server: TestServer
let store: S3Server
let directory: string
let credentials: Readonly<Record<string, string>>
let keyFile: string
/** Between the command and the store: fails as long as it is told to. */
let flaky: Server
let failuresLeft = 0
let passed = 0
/** So many objects more arrive; the others are held back. */
let objectsLeft = Infinity
/** A draft came while objects were held back. */
let isDraftWritten = false

beforeAll(async () => {
  directory = scratch("s3")
  store = await startS3Server(directory, "backups")
  const { port } = store
  flaky = createServer((incoming, outgoing) => {
    if (failuresLeft > 0) {
      failuresLeft--
      // One answer of an overloaded store, one lost connection.
      return failuresLeft % 2 === 0 ? incoming.socket.destroy() : void outgoing.writeHead(503).end()
    }
    passed++
    const { headers, method, url = "" } = incoming
    if (method === "PUT" && url.includes("/objects/") && objectsLeft-- <= 0) return
    if (method === "PUT" && url.includes("/drafts/") && objectsLeft < 0)
      outgoing.once("finish", () => (isDraftWritten = true))
    const forwarded = request({ port, host: "127.0.0.1", path: url, method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(outgoing)
    })
    incoming.pipe(forwarded)
  })
  await new Promise<void>((listening) => flaky.listen(0, "127.0.0.1", listening))
  credentials = s3Environment(port)
  keyFile = join(scratch("keys"), "key")
  writeFileSync(keyFile, new Uint8Array(32).fill(7), { mode: 0o600 })
  server = await startServer({ environment: withoutModel })
})
afterAll(async () => {
  await server?.stop()
  flaky?.close()
  await store?.close()
})

const secret = () => ["--key-file", keyFile]
const throughFlaky = () => {
  const { port } = flaky.address() as AddressInfo
  return { ...credentials, AWS_ENDPOINT_URL: `http://127.0.0.1:${port}` }
}
const create = (to: string, more: ReadonlyArray<string>, environment = credentials) =>
  done(["backup", "create", "--to", to, "--json", ...more], { ...environmentOf(server), ...environment })

describe("a backup in a bucket", () => {
  it("comes back from there", async () => {
    const to = "s3://backups/deep/prefix"
    const words = Array.from({ length: 4 }, (_, at) => `bassoonist${at}`)
    const ids = await fill(server, "travelling", words)
    await create(to, secret())
    const [id] = await fill(server, "travelling", ["oboist"])
    await create(to, secret())
    expect(filesWith(directory, "bassoonist")).toEqual([])

    const { out } = await done(["backup", "list", "--from", to, "--json", ...secret()], credentials)
    expect(JSON.parse(out).backups).toHaveLength(2)
    await done(["backup", "verify", "--from", to, ...secret()], credentials)
    const again = await restored(to, secret(), credentials)
    for (const each of [...ids, id]) expect((await again.call("GET", `/v1/memories/${each}`)).status).toBe(200)
    const books = await again.asOperator("GET", "/admin/ledger/check")
    expect(books.body).toMatchObject({ ok: true, problems: [] })
    await again.stop()

    await done(["backup", "prune", "--from", to, "--keep", "1", ...secret()], credentials)
    await done(["backup", "verify", "--from", to, ...secret()], credentials)
  })

  it("survives a store that fails for a while", async () => {
    const to = "s3://backups/flaky"
    failuresLeft = 6
    await create(to, secret(), throughFlaky())
    expect([failuresLeft, passed > 0]).toEqual([0, true])
    await done(["backup", "verify", "--from", to, ...secret()], credentials)
  })

  it("goes on where a kill ended it", async () => {
    const to = "s3://backups/killed"
    const agents = Array.from({ length: 8 }, (_, at) => `many-${at}`)
    for (const agent of agents) await fill(server, agent, [`word of ${agent}`])
    await untilSettled(server)
    objectsLeft = 4
    const first = startMuniment(["backup", "create", "--to", to, "--unsealed"], {
      ...environmentOf(server),
      ...throughFlaky()
    })
    await vi.waitUntil(() => isDraftWritten, { timeout: patienceMillis })
    first.process.kill("SIGKILL")
    await first.ended
    objectsLeft = Infinity
    expect((await done(["backup", "list", "--from", to], credentials)).out).toContain("No complete backup")
    const nowhere = ["restore", "--from", to, "--to", join(scratch("none"), "data")]
    await refused(nowhere, "no complete backup", credentials)

    const { copiedFiles, files } = JSON.parse((await create(to, ["--unsealed"])).out)
    expect(copiedFiles).toBeLessThan(files)
    await done(["backup", "verify", "--from", to], credentials)
    const again = await restored(to, [], credentials)
    for (const agent of agents) {
      expect((await again.call("GET", `/v1/memories?agentId=${agent}`)).body.total).toBe(1)
    }
    await again.stop()
  })

  it("is not made with keys in the clear, unless that is meant", async () => {
    const to = "s3://backups/clear"
    await refused(["backup", "create", "--to", to], "say --unsealed", { ...environmentOf(server), ...credentials })
    await create(to, ["--unsealed"])
    await done(["backup", "verify", "--from", to], credentials)
  })

  it("needs credentials that the store knows, and says what it answered", async () => {
    const args = ["backup", "list", "--from", "s3://backups/deep/prefix", ...secret()]
    await refused(args, "403 SignatureDoesNotMatch", { ...credentials, AWS_SECRET_ACCESS_KEY: "wrong" })
    await refused(args, "403 InvalidAccessKeyId", { ...credentials, AWS_ACCESS_KEY_ID: "nobody" })
    await refused(args, "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", {})
    const absent = ["backup", "create", "--to", "s3://no-such-bucket", ...secret()]
    await refused(absent, "no such bucket", { ...environmentOf(server), ...credentials })
    await refused(["backup", "list", "--from", "s3://Bad_Bucket"], "neither a path nor s3://", credentials)
  })
})

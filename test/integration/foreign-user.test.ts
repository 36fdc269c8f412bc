/** As a container of a cluster runs it: any uid without an entry of its own, of the group root, on a root that is read-only. */
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { chmodSync, readdirSync, statSync } from "node:fs"
import { dirname, join } from "node:path"
import { expect, it } from "vitest"
import { withoutModel } from "../support/SharedServer.ts"
import { entry, freePort, operatorKey, patienceMillis, serverCalls } from "../support/TestServer.ts"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"

const uid = 54_321
const mounts = "mount --make-rprivate / && mount -t tmpfs tmpfs /tmp && mount -o remount,bind,ro /"
/** Mounts of a process of its own are for root, and for Linux. */
const canMount = spawnSync("unshare", ["--mount", "sh", "-c", mounts]).status === 0

it.skipIf(!canMount)("starts, stores and finds, and its files are private (where root may mount)", async () => {
  const data = temporaryDirectory()
  chmodSync(data, 0o770)
  // The build of the clone is its owner's alone; an image's is open.
  chmodSync(dirname(dirname(entry)), 0o755)
  const port = await freePort()
  const volume = `mkdir /tmp/data && mount --bind '${data}' /tmp/data`
  const become = ["setpriv", `--reuid=${uid}`, "--regid=0", "--clear-groups", "--no-new-privs", "--bounding-set=-all"]
  const service = [...become, process.execPath, entry, "serve"].map((word) => `'${word}'`).join(" ")
  const child = spawn(
    "unshare",
    ["--mount", "sh", "-c", `${mounts} && ${volume} && ! touch /written 2>/dev/null && exec ${service}`],
    {
      env: {
        ...withoutModel,
        PATH: process.env["PATH"],
        MUNIMENT_DATA_DIR: "/tmp/data",
        MUNIMENT_PORT: String(port),
        MUNIMENT_BOOTSTRAP_KEY: operatorKey
      },
      stdio: ["ignore", "pipe", "pipe"]
    }
  )
  let said = ""
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (said += chunk.toString()))
  const ended = once(child, "exit")
  try {
    const { call } = serverCalls(`http://127.0.0.1:${port}`, "")
    const status = () =>
      call("GET", "/health/ready").then(
        (answer) => answer.status,
        () => said
      )
    await expect.poll(status, { timeout: patienceMillis }).toBe(200)
    const memories = [{ kind: "factual_memory", data: { subject: "Ann", fact: "Ann rows" } }]
    expect((await call("POST", "/v1/memories", { body: { agentId: "a", memories } })).status, said).toBe(200)
    const found = await call("GET", "/v1/memories/search?query=Ann&agentId=a")
    expect(found.body.memories).toHaveLength(1)
    for (const name of readdirSync(data, { recursive: true, encoding: "utf8" })) {
      // The service renames files meanwhile.
      const entry = statSync(join(data, name), { throwIfNoEntry: false })
      if (entry === undefined) continue
      const { mode, uid: owner } = entry
      expect([name, owner, mode & 0o077]).toEqual([name, uid, 0])
    }
  } finally {
    child.kill("SIGTERM")
    await ended
  }
  expect(child.exitCode, said).toBe(0)
})

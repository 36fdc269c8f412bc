/**
 * The packed service in an empty folder: installed without a registry, started by its command, used, and weighed. Two
 * minutes, most of it building twice; a registry brings a Node.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, stat, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { packService } from "../../../scripts/pack.ts"
import type { Tarball } from "../../../scripts/pack/Tarball.ts"
import { freePort, operatorKey, patienceMillis, repository, serverCalls } from "../../support/TestServer.ts"

const run = promisify(execFile)
const modelsDirectory = process.env["MUNIMENT_MODELS_DIR"] ?? join(repository, "models")
const installedBytesMax = 250_000_000
/** With the model loaded and one search done. */
const residentKilobytesMax = 450_000
const firstSearchMillisMax = 60_000
/** A Node as a package of a registry. */
const nodeName = `node-${process.platform}-${process.arch}`

let folder = ""
let tarballs: ReadonlyArray<Tarball> = []
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "muniment-service-"))
  tarballs = await packService(join(folder, "tarballs"))
  await writeFile(join(folder, "package.json"), JSON.stringify({ name: "user", private: true }))
  const files = tarballs.map(({ path }) => path)
  await run("npm", ["install", ...files, "--offline", "--no-audit", "--no-fund"], { cwd: folder })
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Calls of the service that `child` runs, once it is ready. */
const readyCalls = async (port: number, child: ChildProcess) => {
  const { call } = serverCalls(`http://127.0.0.1:${port}`, "")
  const status = () =>
    call("GET", "/health/ready").then(
      ({ status: answered }) => answered,
      () => child.exitCode
    )
  await expect.poll(status, { timeout: patienceMillis }).toBe(200)
  return call
}

/** A folder outside the repository, and a search path with a Node that a registry brings, `sh` and no other program. */
const emptyPlace = async (version: string) => {
  const home = await mkdtemp(join(tmpdir(), "muniment-npx-"))
  const bin = join(home, "bin")
  await mkdir(bin)
  const tools = join(home, "tools")
  await mkdir(tools)
  await run("npm", ["install", `${nodeName}@${version}`, "--no-audit", "--no-fund", "--prefix", tools], { cwd: tools })
  await symlink(join(tools, "node_modules", nodeName, "bin", "node"), join(bin, "node"))
  await symlink("/bin/sh", join(bin, "sh"))
  const npm = await realpath((await run("sh", ["-c", "command -v npm"])).stdout.trim())
  return {
    folder: home,
    path: bin,
    npx: join(npm, "..", "npx-cli.js"),
    [Symbol.asyncDispose]: () => rm(home, { recursive: true, force: true })
  }
}

const bytesBelow = async (path: string): Promise<number> => {
  const entries = await readdir(path, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const sizes = await Promise.all(files.map(async (file) => (await stat(file)).size))
  return sizes.reduce((sum, size) => sum + size, 0)
}

describe("the packed service", () => {
  it("is built to the same bytes again", async () => {
    const again = await packService(join(folder, "again"))
    const digests = (packed: ReadonlyArray<Tarball>) =>
      Object.fromEntries(packed.map(({ path, sha256 }) => [basename(path), sha256]))
    expect(digests(again)).toEqual(digests(tarballs))
  })

  it("is small, and brings nothing but itself and its native part", async () => {
    const installed = join(folder, "node_modules")
    const packages = (await readdir(installed, { recursive: true })).filter((path) => path.endsWith("package.json"))
    expect(packages.sort()).toEqual([
      `@muniment/onnxruntime-${process.platform}-${process.arch}/package.json`,
      "muniment/package.json"
    ])
    const total = (await bytesBelow(installed)) + (await bytesBelow(modelsDirectory))
    process.stdout.write(`Installed with the model: ${Math.round(total / 1e6)} MB\n`)
    expect(total).toBeLessThan(installedBytesMax)
  })

  it("starts, embeds, stores and finds by meaning, shows its pages, and stops", async () => {
    const port = await freePort()
    const startedAt = performance.now()
    const child = spawn(join(folder, "node_modules", ".bin", "muniment"), ["serve"], {
      cwd: folder,
      env: {
        PATH: `${join(process.execPath, "..")}:${process.env["PATH"]}`,
        MUNIMENT_PORT: String(port),
        MUNIMENT_BOOTSTRAP_KEY: operatorKey,
        MUNIMENT_MODELS_DIR: modelsDirectory
      },
      stdio: ["ignore", "pipe", "pipe"]
    })
    let output = ""
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()))
    child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()))
    const exited = once(child, "exit")
    try {
      const call = await readyCalls(port, child)
      const memories = ["Alice lives in Seattle", "Bob repairs bicycles"].map((fact) => ({
        kind: "factual_memory",
        data: { subject: fact.slice(0, 5), fact }
      }))
      const stored = await call("POST", "/v1/memories", { body: { agentId: "assistant", memories, wait: "vectors" } })
      expect(stored.status, output).toBe(200)
      const found = await call("GET", "/v1/memories/search?query=in+which+city+is+her+home&agentId=assistant")
      process.stdout.write(`First search after ${Math.round(performance.now() - startedAt)} ms\n`)
      expect(found.body.memories[0].data.fact).toBe("Alice lives in Seattle")

      const asked = ["mcp", "config", "--for", "claude-desktop", "--url", "http://127.0.0.1:1"]
      const settings = await run(join(folder, "node_modules", ".bin", "muniment"), asked)
      const entry = await realpath(join(folder, "node_modules", "muniment", "dist", "installed.js"))
      expect(JSON.parse(settings.stdout).mcpServers.muniment.args[0]).toBe(entry)

      for (const path of ["/docs", "/docs/page.js", "/console", "/docs/handbook/client", "/docs/handbook/install"]) {
        expect((await call("GET", path)).status, path).toBe(200)
      }
      const read = await call("POST", "/v1/memories", {
        body: {
          agentId: "reader",
          conversation: [{ role: "user", content: "My name is Alice and I live in Rome." }],
          wait: "extraction"
        }
      })
      expect(read.body.created.length, "the rules run in their thread").toBeGreaterThan(0)
      expect((await call("GET", "/v1/memories/search?query=Alice&mode=map&agentId=assistant")).status).toBe(200)
      if (process.platform === "linux") {
        const figures = await readFile(`/proc/${child.pid}/status`, "utf8")
        const resident = Number(/VmRSS:\s+(\d+)/.exec(figures)?.[1])
        process.stdout.write(`Resident: ${Math.round(resident / 1024)} MiB\n`)
        expect(resident).toBeLessThan(residentKilobytesMax)
      }
    } finally {
      child.kill("SIGTERM")
      await exited
    }
    expect(child.exitCode, output).toBe(0)
  })

  // The one of the image, and the oldest of each line that runs the service.
  it.each(["24.21.0", "24.7.0", "22.20.0"])(
    "runs by npx where there is Node %s and nothing else, and finds by meaning within a minute",
    async (version) => {
      await using place = await emptyPlace(version)
      const { folder: home, npx, path } = place
      const port = await freePort()
      const files = tarballs.flatMap(({ path: file }) => ["--package", file])
      const startedAt = performance.now()
      const child = spawn(join(path, "node"), [npx, "--yes", "--offline", ...files, "--", "muniment", "serve"], {
        cwd: home,
        env: {
          PATH: path,
          HOME: home,
          MUNIMENT_PORT: String(port),
          MUNIMENT_BOOTSTRAP_KEY: operatorKey,
          MUNIMENT_MODELS_DIR: modelsDirectory
        },
        detached: true,
        stdio: ["ignore", "pipe", "pipe"]
      })
      let output = ""
      for (const stream of [child.stdout, child.stderr])
        stream.on("data", (chunk: Buffer) => (output += chunk.toString()))
      const exited = once(child, "exit")
      try {
        const call = await readyCalls(port, child)
        const memories = [{ kind: "factual_memory", data: { subject: "Alice", fact: "Alice lives in Seattle" } }]
        const stored = await call("POST", "/v1/memories", { body: { agentId: "npx", memories, wait: "vectors" } })
        expect(stored.status, output).toBe(200)
        const found = await call("GET", "/v1/memories/search?query=in+which+city+is+her+home&agentId=npx")
        expect(found.body.memories[0]?.data.fact, output).toBe("Alice lives in Seattle")
        const millis = Math.round(performance.now() - startedAt)
        process.stdout.write(`First search by npx after ${millis} ms\n`)
        expect(millis).toBeLessThan(firstSearchMillisMax)
        expect(output).not.toContain("ExperimentalWarning")
      } finally {
        process.kill(-child.pid!, "SIGTERM")
        await exited
      }
    }
  )

  it.each(["24.6.0", "22.19.0", "20.19.0"])("refuses Node %s in a sentence", async (version) => {
    await using place = await emptyPlace(version)
    const command = join(folder, "node_modules", "muniment", "dist", "installed.js")
    const refused = await run(join(place.path, "node"), [command, "serve"]).then(
      ({ stdout }) => stdout,
      ({ code, stderr }: { readonly code: number; readonly stderr: string }) => `${code}: ${stderr}`
    )
    expect(refused).toBe(
      `1: muniment needs Node 22.20 or later of 22, or 24.7 or later; this is v${version}. Install one (your package manager, nvm, fnm or volta: version 24), then run this again.\n`
    )
  })

  it("says what of others it contains, and under which licences", async () => {
    const home = join(folder, "node_modules", "muniment")
    const bill = JSON.parse(await readFile(join(home, "bom.cdx.json"), "utf8"))
    expect(bill).toMatchObject({ bomFormat: "CycloneDX", specVersion: "1.6" })
    const names = new Set(bill.components.map(({ name }: { readonly name: string }) => name))
    for (const name of ["effect", "viem", "onnxruntime-common", "preact", "@huggingface/transformers"]) {
      expect(names, name).toContain(name)
    }
    for (const name of ["vitest", "esbuild", "muniment-absent", "@muniment/server"]) expect(names).not.toContain(name)
    const locked = JSON.parse(await readFile(join(repository, "package-lock.json"), "utf8")).packages
    for (const component of bill.components) {
      expect(component.licenses.length, component.name).toBe(1)
      const entry = locked[`node_modules/${component.name}`]
      if (entry?.version === component.version) {
        const digest = Buffer.from(entry.integrity.replace("sha512-", ""), "base64").toString("hex")
        expect(component.hashes).toEqual([{ alg: "SHA-512", content: digest }])
      }
    }
    const notices = await readFile(join(home, "THIRD-PARTY-NOTICES.txt"), "utf8")
    for (const { name, version } of bill.components) expect(notices).toContain(`${name} ${version}\n`)
  })
})

/**
 * Installs `bench/peers` on the first run of the benches, from its own lockfile, skipped when a stamp says that this
 * lockfile is installed already. `npm ci` refuses a lockfile without binaries of platforms that a registry does not
 * offer, hence `install --no-save`. Without network the benches still run: peers that cannot be loaded are named in
 * the reports, so a failure here is reported and the benches go on.
 */
import { spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { peersDirectory } from "./Peers.ts"

const stamp = join(peersDirectory, "node_modules", ".muniment-peers")
const progressMillis = 10_000
const installMillisMax = 600_000
/** ONNX Runtime comes with chromadb's default embedder, which no bench uses; its download is large. */
const quietEnvironment = { ONNXRUNTIME_NODE_INSTALL: "skip", ONNXRUNTIME_NODE_INSTALL_CUDA: "skip" }

const main = async (): Promise<void> => {
  const hash = installHash()
  if (existsSync(stamp) && readFileSync(stamp, "utf8").trim() === hash) return
  process.stdout.write("Installing what the benches compare with (bench/peers, about 700 MB, once) ...\n")
  const from = performance.now()
  const seconds = () => `${((performance.now() - from) / 1_000).toFixed(0)} s`
  const progress = setInterval(() => process.stdout.write(`  ${seconds()}\n`), progressMillis)
  const { code, output } = await npmInstall()
  clearInterval(progress)
  if (code === 0) {
    writeFileSync(stamp, `${hash}\n`)
    process.stdout.write(`Installed in ${seconds()}\n`)
  } else {
    const shown = output.trim().split("\n").slice(-outputLinesShown).join("\n")
    process.stderr.write(
      `npm install in bench/peers failed after ${seconds()}; the benches go on and name what they miss:\n${shown}\n`
    )
  }
}

const outputLinesShown = 10

const installHash = (): string =>
  createHash("sha256")
    .update(`${process.platform} ${process.arch} ${process.versions.modules}\n`)
    .update(readFileSync(join(peersDirectory, "package-lock.json")))
    .digest("hex")

const npmInstall = (): Promise<{ readonly code: number; readonly output: string }> => {
  const npm = process.env["npm_execpath"]
  const [command, first] = npm?.endsWith(".js") ? [process.execPath, [npm]] : ["npm", []]
  const options = ["install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"]
  return new Promise((settle) => {
    const child = spawn(command, [...first, ...options], {
      cwd: peersDirectory,
      env: { ...process.env, ...quietEnvironment },
      shell: command === "npm" && process.platform === "win32",
      stdio: ["ignore", "pipe", "pipe"],
      timeout: installMillisMax
    })
    let output = ""
    child.stdout.on("data", (chunk: Buffer) => (output += String(chunk)))
    child.stderr.on("data", (chunk: Buffer) => (output += String(chunk)))
    child.once("error", (cause) => settle({ code: 1, output: `npm cannot be run: ${cause.message}` }))
    child.once("close", (code) => settle({ code: code ?? 1, output }))
  })
}

await main()

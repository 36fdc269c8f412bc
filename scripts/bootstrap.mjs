/**
 * Makes a fresh clone runnable: installs the packages, then hands over to `setup.ts` under a Node
 * that is new enough. Plain JavaScript, because it runs on whatever Node (>= 20) the machine has.
 *
 * With `--service` only what the service needs is installed; the tests, checks and local chains of
 * developers need the rest.
 *
 * Invariant: a stamp inside node_modules holds the hash of the lockfile and manifests that were
 * installed, and whether all of them were, so the second start does nothing. A native module that cannot be built never fails the
 * install: it is an optional dependency, and `setup.ts` says what its absence costs.
 */
import { spawn, spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"

/**
 * The least version of each line whose SQLite module takes numbered parameters (before: "column index out of range"), and
 * the same for all later lines.
 */
const nodeVersionsMin = [
  [22, 20],
  [24, 7]
]
const outputLinesShown = 30
const spinnerMillis = 120

/** Hex digest of everything that decides what an install puts into node_modules. */
export const installHash = (root) => {
  const packages = join(root, "packages")
  const manifests = existsSync(packages)
    ? readdirSync(packages)
        .sort()
        .map((name) => join(packages, name, "package.json"))
    : []
  const hash = createHash("sha256").update(`${process.platform} ${process.arch}\n`)
  for (const file of [join(root, "package-lock.json"), join(root, "package.json"), ...manifests]) {
    if (existsSync(file)) hash.update(readFileSync(file)).update("\n")
  }
  return hash.digest("hex")
}

/**
 * What has to be installed for `wanted` ("service" or "all"): undefined when node_modules has it
 * already. A folder that once had everything is kept that way.
 */
export const neededInstall = (root, hash, wanted) => {
  const stamp = stampFile(root)
  const [installed, extent = "all"] = existsSync(stamp) ? readFileSync(stamp, "utf8").trim().split(" ") : []
  const target = installed !== undefined && extent === "all" ? "all" : wanted
  return installed === hash && (extent === "all" || extent === target) ? undefined : target
}

/**
 * Folder with `include/node/node_api.h` for building native modules, so that nothing is downloaded: the folder
 * configured in npm, else beside the running Node, else in the Node that the install brought.
 */
export const headersDirectory = ({ configured, execPath, root, platform, arch }) => {
  if (configured) return configured
  const beside = resolve(dirname(execPath), "..")
  const brought = join(root, "node_modules", `node-${platform}-${arch}`)
  return [beside, brought].find((prefix) => existsSync(join(prefix, "include", "node", "node_api.h")))
}

/** Whether `v24.21.0` or `24.21.0` is a version that the service runs on. */
export const isNodeRecent = (version) => {
  const [major, minor] = version.trim().replace(/^v/, "").split(".").map(Number)
  const line = nodeVersionsMin.find(([least]) => least === major)
  return line === undefined ? major > nodeVersionsMin.at(-1)[0] : minor >= line[1]
}

/** npm's output without warnings that need no action: the Node we bring satisfies the engines. */
export const withoutNoise = (output) =>
  output.split("\n").filter((line) => line.trim() !== "" && !/EBADENGINE|Unknown (user|env|project) config/.test(line))

const stampFile = (root) => join(root, "node_modules", ".muniment-install")

const main = async (root) => {
  const hash = installHash(root)
  const extent = neededInstall(root, hash, process.argv.includes("--service") ? "service" : "all")
  if (extent !== undefined) {
    await install(root, extent)
    writeFileSync(stampFile(root), `${hash} ${extent}\n`)
  }
  const node = recentNode(root)
  if (node === undefined) {
    fail(
      `Muniment needs Node 22.20 or later of 22, or 24.7 or later; this is ${process.version}, and no ready-made Node is published for ` +
        `${process.platform}-${process.arch}. Install one (your package manager, nvm, fnm or volta: version 24), then run this again.`
    )
  }
  const setup = spawnSync(node, [join(root, "scripts", "setup.ts")], { cwd: root, stdio: "inherit" })
  process.exitCode = setup.status ?? 1
}

const install = async (root, extent) => {
  const configured = process.env.npm_config_nodedir ?? configuredHeaders(root)
  const place = { configured, execPath: process.execPath, root, platform: process.platform, arch: process.arch }
  const first = headersDirectory(place)
  await step("Installing packages", () => npmInstall(root, first, extent))
  // The install itself may have brought headers (with the Node it brings): then building has a second chance.
  const second = headersDirectory(place)
  if (!existsSync(join(root, "node_modules", "hnswlib-node")) && second !== first) {
    await step("Building the vector index", () => npmInstall(root, second, extent))
  }
}

const configuredHeaders = (root) => {
  const { command, args } = npmCommand(["config", "get", "nodedir"])
  const answer = spawnSync(command, args, { cwd: root, encoding: "utf8", shell: needsShell })
  const value = answer.status === 0 ? answer.stdout.trim() : ""
  return value === "" || value === "undefined" || value === "null" ? undefined : value
}

// npm itself is a .cmd file on Windows, which only a shell can start.
const needsShell = process.platform === "win32" && !process.env.npm_execpath?.endsWith(".js")

const npmCommand = (args) =>
  process.env.npm_execpath?.endsWith(".js")
    ? { command: process.execPath, args: [process.env.npm_execpath, ...args] }
    : { command: "npm", args }

const npmInstall = (root, headers, extent) => {
  const env = { ...process.env, ONNXRUNTIME_NODE_INSTALL: "skip", ONNXRUNTIME_NODE_INSTALL_CUDA: "skip" }
  if (headers !== undefined) env.npm_config_nodedir = headers
  const { command, args } = npmCommand([
    "install",
    "--no-audit",
    "--no-fund",
    "--loglevel=error",
    ...(extent === "service" ? ["--omit=dev"] : [])
  ])
  return new Promise((settle) => {
    const child = spawn(command, args, { cwd: root, env, shell: needsShell, stdio: ["ignore", "pipe", "pipe"] })
    let output = ""
    child.stdout.on("data", (chunk) => (output += chunk))
    child.stderr.on("data", (chunk) => (output += chunk))
    child.once("error", (cause) => settle({ code: 1, output: `npm cannot be run: ${cause.message}` }))
    child.once("close", (code) => settle({ code: code ?? 1, output }))
  })
}

/** One line: a spinner with the seconds at a terminal, begin and end otherwise. */
const step = async (label, run) => {
  const startedAt = Date.now()
  const seconds = () => `${((Date.now() - startedAt) / 1_000).toFixed(0)} s`
  const isTerminal = process.stdout.isTTY === true
  const frames = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
  let frame = 0
  if (!isTerminal) process.stdout.write(`${label} ...\n`)
  const spinner = setInterval(() => {
    if (isTerminal) process.stdout.write(`\r${frames[frame++ % frames.length]} ${label} ${seconds()} `)
  }, spinnerMillis)
  const { code, output } = await run()
  clearInterval(spinner)
  if (isTerminal) process.stdout.write("\r\u001b[K")
  if (code !== 0) {
    fail(`${label} failed after ${seconds()}:\n${withoutNoise(output).slice(-outputLinesShown).join("\n")}`)
  }
  process.stdout.write(`${label}: done in ${seconds()}\n`)
}

/** The Node that the install brought, else the running one, when new enough. */
const recentNode = (root) => {
  const brought = join(root, "node_modules", ".bin", "node")
  if (existsSync(brought)) {
    const answer = spawnSync(brought, ["--version"], { encoding: "utf8" })
    if (answer.status === 0 && isNodeRecent(answer.stdout)) return brought
  }
  return isNodeRecent(process.version) ? process.execPath : undefined
}

const fail = (message) => {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}

// Not when imported by its tests.
if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  await main(resolve(dirname(fileURLToPath(import.meta.url)), ".."))
}

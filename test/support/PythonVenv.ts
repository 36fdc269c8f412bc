/**
 * A virtual environment of Python with pinned packages, for tests of what is written in Python. It is made once for
 * each list of packages and each Python, and kept beside the other caches. `MUNIMENT_PYTHON` names the Python; which
 * registry is asked is the machine's own configuration of pip. uv installs: pip takes seven times the processor time.
 */
import { spawn, spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { text } from "node:stream/consumers"
import { repository } from "./TestServer.ts"

const python = process.env["MUNIMENT_PYTHON"] ?? "python3"
const installer = "uv==0.13.9"

export interface PythonVenv {
  /** Why tests of Python cannot run here; empty where they can. For the name of a skipped suite. */
  readonly missing: string
  readonly directory: string
  /** Runs the environment's Python; its output, or a failure with it. */
  readonly run: (
    parameters: ReadonlyArray<string>,
    options?: { readonly cwd?: string; readonly environment?: Readonly<Record<string, string>> }
  ) => Promise<string>
}

/** With the packages of a requirements file, whose path is below the repository. */
export const pythonVenv = (requirements: string): PythonVenv => {
  const script = "import sys, venv; print(sys.version); sys.exit(sys.version_info < (3, 10))"
  const found = spawnSync(python, ["-c", script], { encoding: "utf8" })
  const wanted = readFileSync(join(repository, requirements), "utf8")
  const name = createHash("sha256").update(`${found.stdout}${wanted}`).digest("hex").slice(0, 16)
  const directory = join(repository, "node_modules", ".cache", "python", name)
  const missing =
    found.status === 0 ? install(directory, requirements) : `${python} is no Python from 3.10 on with venv`
  return {
    missing: missing === "" ? "" : ` (skipped: ${missing}; MUNIMENT_PYTHON names another Python)`,
    directory,
    run: (parameters, options) => run(join(directory, "bin", "python"), parameters, options)
  }
}

/** Empty when all packages are there; otherwise why not. */
const install = (directory: string, requirements: string): string => {
  const isReady = join(directory, "ready")
  if (existsSync(isReady)) return ""
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory, { recursive: true })
  const made = spawnSync(python, ["-m", "venv", directory], { encoding: "utf8" })
  if (made.status !== 0) return "a virtual environment cannot be made"
  const own = join(directory, "bin", "python")
  const pip = (...words: ReadonlyArray<string>) =>
    spawnSync(own, ["-m", "pip", "--quiet", "--disable-pip-version-check", ...words], { encoding: "utf8" })
  if (pip("install", "--no-compile", installer).status !== 0) return `pip cannot install ${installer}`
  const index = pip("config", "get", "global.index-url").stdout.trim()
  const words = ["pip", "install", "--quiet", "--python", own, "--requirement", requirements]
  const installed = spawnSync(join(directory, "bin", "uv"), words, {
    cwd: repository,
    env: { ...process.env, ...(index !== "" && { UV_DEFAULT_INDEX: index }) },
    encoding: "utf8"
  })
  if (installed.status !== 0) return `uv cannot install ${requirements}: ${installed.stderr}`
  writeFileSync(isReady, "")
  return ""
}

const run: (command: string, ...rest: Parameters<PythonVenv["run"]>) => Promise<string> = async (
  command,
  parameters,
  { cwd = repository, environment = {} } = {}
) => {
  // Files of bytecode would lie in the tree.
  const env = { ...process.env, PYTHONPYCACHEPREFIX: join(dirname(command), "../bytecode"), ...environment }
  const child = spawn(command, parameters, { cwd, env, stdio: ["ignore", "pipe", "pipe"] })
  const code = new Promise<number | null>((resolve) => void child.on("close", resolve))
  const [output, complaints] = await Promise.all([text(child.stdout), text(child.stderr)])
  if ((await code) !== 0) throw new Error(`python ${parameters.join(" ")} failed:\n${output}${complaints}`)
  return output + complaints
}

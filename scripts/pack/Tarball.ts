/** Tarballs by `npm pack`, which gives every file one date and one owner: the same folder makes the same bytes. */
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { mkdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"

export interface Tarball {
  readonly path: string
  readonly bytes: number
  readonly sha256: string
}

/** Packs the package in `folder` into `into`. */
export const packFolder = (folder: string, into: string): Tarball => {
  mkdirSync(into, { recursive: true })
  const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", into]
  const { error, status, stderr, stdout } = spawnSync("npm", args, {
    cwd: folder,
    encoding: "utf8",
    shell: process.platform === "win32"
  })
  if (error !== undefined || status !== 0) throw new Error(`npm pack failed: ${error?.message ?? stderr}`)
  const name = /"filename": "([^"]+)"/.exec(stdout)?.[1]
  if (name === undefined) throw new Error(`npm pack names no file: ${stdout}`)
  return weighed(join(into, name.replace("@", "").replace("/", "-")))
}

export const weighed = (path: string): Tarball => ({
  path,
  bytes: statSync(path).size,
  sha256: createHash("sha256").update(readFileSync(path)).digest("hex")
})

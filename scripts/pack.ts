/**
 * `npm run pack:all -- [FOLDER]`: builds what is published, into `dist` by default. The same sources make the same
 * bytes. Nothing is published from here.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, join, resolve } from "node:path"
import { buildClient, clientBytesMax } from "./pack/ClientPackage.ts"
import { packFolder, type Tarball } from "./pack/Tarball.ts"

const root = resolve(import.meta.dirname, "..")

export const packClient = (into: string): Tarball => {
  const tarball = packed((folder) => buildClient(root, folder), into)
  if (tarball.bytes > clientBytesMax) {
    throw new Error(`${basename(tarball.path)} has ${tarball.bytes} bytes, more than ${clientBytesMax}`)
  }
  return tarball
}

const packed = (build: (folder: string) => void, into: string): Tarball => {
  const folder = mkdtempSync(join(tmpdir(), "muniment-pack-"))
  try {
    build(folder)
    return packFolder(folder, into)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

if (process.argv[1] === import.meta.filename) {
  const into = resolve(process.argv[2] ?? join(root, "dist"))
  mkdirSync(into, { recursive: true })
  for (const { bytes, path, sha256 } of [packClient(into)]) {
    process.stdout.write(`${sha256}  ${basename(path)}  ${bytes} bytes\n`)
  }
}

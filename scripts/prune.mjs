/**
 * Run by npm after every install: removes what packages bring for other platforms. ONNX Runtime has no package per
 * platform: it brings the libraries of all of them, 290 MB, of which one needs 25 to 45 MB.
 *
 * Plain JavaScript, because it runs on whatever Node (>= 20) the machine has.
 */
import { existsSync, readdirSync, realpathSync, rmSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"

/** Folders laid out as `<platform>/<arch>`, relative to node_modules. */
const binaryFolders = ["onnxruntime-node/bin/napi-v6"]

/**
 * The folders of other platforms and processors, absolute. None if this platform's own folder is missing: then the
 * layout is not the one that is known here.
 */
export const foreignBinaries = (root, platform, arch) =>
  binaryFolders.flatMap((folder) => {
    const binaries = join(root, "node_modules", folder)
    if (!existsSync(join(binaries, platform, arch))) return []
    return [...others(binaries, platform), ...others(join(binaries, platform), arch)]
  })

/** The folders in `folder` but for `own`. */
const others = (folder, own) =>
  readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== own)
    .map(({ name }) => join(folder, name))
    .sort()

// Not when imported by its test.
if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const root = resolve(dirname(fileURLToPath(import.meta.url)), "..")
  for (const folder of foreignBinaries(root, process.platform, process.arch)) rmSync(folder, { recursive: true })
}

/**
 * `npm run pack:all -- [FOLDER] [--runtime FOLDER] [--adapters]`: builds what is published, into `dist` by default: the client, the
 * service, and ONNX Runtime for the platforms whose library is in the runtime's folder, by default the installed
 * `onnxruntime-node`, which has this machine's; with `--adapters` also those for agent frameworks, whose frameworks npm
 * brings. The same sources make the same bytes. Nothing is published from here:
 * `packages/cli/docs/install.md` says how a maintainer does it.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { adapterNames, buildAdapter, installFrameworks } from "./pack/AdapterPackages.ts"
import { buildClient, clientBytesMax } from "./pack/ClientPackage.ts"
import { buildNative, buildService, hasNative, platforms } from "./pack/ServicePackage.ts"
import { packFolder, type Tarball } from "./pack/Tarball.ts"

const root = resolve(import.meta.dirname, "..")

export const packClient = (into: string): Tarball => {
  const folder = emptyFolder()
  buildClient(root, folder)
  const tarball = packed(folder, into)
  if (tarball.bytes > clientBytesMax) {
    throw new Error(`${basename(tarball.path)} has ${tarball.bytes} bytes, more than ${clientBytesMax}`)
  }
  return tarball
}

/** The service first, then the native parts that `runtime` has. */
export const packService = async (
  into: string,
  runtime = join(root, "node_modules", "onnxruntime-node")
): Promise<ReadonlyArray<Tarball>> => {
  const folder = emptyFolder()
  await buildService(root, folder)
  const natives = platforms
    .filter((platform) => hasNative(runtime, platform))
    .map((platform) => {
      const native = emptyFolder()
      buildNative(root, runtime, platform, native)
      return packed(native, into)
    })
  return [packed(folder, into), ...natives]
}

export const packAdapters = async (into: string, client: Tarball): Promise<ReadonlyArray<Tarball>> => {
  const folder = emptyFolder()
  try {
    await installFrameworks(root, folder, client.path)
    const tarballs: Array<Tarball> = []
    for (const name of adapterNames(root)) tarballs.push(packFolder(await buildAdapter(root, folder, name), into))
    return tarballs
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const emptyFolder = (): string => mkdtempSync(join(tmpdir(), "muniment-pack-"))

/** Removes `folder`. */
const packed = (folder: string, into: string): Tarball => {
  try {
    return packFolder(folder, into)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

if (process.argv[1] === import.meta.filename) {
  const options = { runtime: { type: "string" }, adapters: { type: "boolean" } } as const
  const { positionals, values } = parseArgs({ allowPositionals: true, options })
  const into = resolve(positionals[0] ?? join(root, "dist"))
  const client = packClient(into)
  const adapters = values.adapters === true ? await packAdapters(into, client) : []
  for (const { bytes, path, sha256 } of [client, ...adapters, ...(await packService(into, values.runtime))]) {
    process.stdout.write(`${sha256}  ${basename(path)}  ${bytes} bytes\n`)
  }
}

/**
 * `npm run pack:all`: builds what is published. The same sources make the same bytes. Nothing is published from here:
 * `packages/cli/docs/install.md` says how a maintainer does it.
 */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { adapterNames, buildAdapter, installFrameworks } from "./pack/AdapterPackages.ts"
import { buildClient, clientBytesMax } from "./pack/ClientPackage.ts"
import { buildNative, buildService, hasNative, platforms } from "./pack/ServicePackage.ts"
import { packFolder, type Tarball, weighed } from "./pack/Tarball.ts"
import { buildWheel, type WheelBuilder, wheelBytesMax } from "./pack/WheelPackage.ts"

const usage = `npm run pack:all -- [FOLDER] [options]

Builds what is published, into FOLDER (dist): the client, the service, and ONNX Runtime for the platforms whose library
is at hand.

  --runtime FOLDER  where ONNX Runtime's libraries are (the installed onnxruntime-node, which has this machine's)
  --adapters        also those for agent frameworks, whose frameworks npm brings
  --wheel           also the Python client, by the Python that MUNIMENT_PYTHON names (python3) and a build backend that
                    pip brings
  --help            this text`

const root = resolve(import.meta.dirname, "..")

export const packClient = (into: string): Tarball => {
  const folder = emptyFolder()
  buildClient(root, folder)
  return within(packed(folder, into), clientBytesMax)
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

const packAdapters = async (into: string, client: Tarball): Promise<ReadonlyArray<Tarball>> => {
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

export const packWheel = async (into: string, builder: WheelBuilder): Promise<Tarball> => {
  const folder = emptyFolder()
  try {
    const wheel = await buildWheel(root, folder, builder)
    const path = join(into, basename(wheel))
    mkdirSync(into, { recursive: true })
    copyFileSync(wheel, path)
    return within(weighed(path), wheelBytesMax)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const within = (packed: Tarball, bytesMax: number): Tarball => {
  if (packed.bytes <= bytesMax) return packed
  throw new Error(`${basename(packed.path)} has ${packed.bytes} bytes, more than ${bytesMax}`)
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

const main = async (): Promise<void> => {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      runtime: { type: "string" },
      adapters: { type: "boolean", default: false },
      wheel: { type: "boolean", default: false },
      help: { type: "boolean", default: false }
    }
  })
  if (values.help) return void process.stdout.write(`${usage}\n`)
  if (positionals.length > 1) throw new Error(`one folder, not ${positionals.join(" and ")}`)
  const into = resolve(positionals[0] ?? join(root, "dist"))
  const client = packClient(into)
  const adapters = values.adapters ? await packAdapters(into, client) : []
  const python = process.env["MUNIMENT_PYTHON"] ?? "python3"
  const wheels = values.wheel ? [await packWheel(into, { python, hasBackend: false })] : []
  for (const { bytes, path, sha256 } of [
    client,
    ...adapters,
    ...wheels,
    ...(await packService(into, values.runtime))
  ]) {
    process.stdout.write(`${sha256}  ${basename(path)}  ${bytes} bytes\n`)
  }
}

if (process.argv[1] === import.meta.filename) await main()

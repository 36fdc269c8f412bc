/**
 * The service as it is published, for tests that start it hundreds of times: most of a start from its sources is
 * finding and reading them. It is built once per worker, into the run's temporary files, and says the same.
 */
import { mkdirSync, mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { pathToFileURL } from "node:url"
import { buildNative, buildService, platforms } from "../../scripts/pack/ServicePackage.ts"
import { repository } from "./TestServer.ts"

/** Modules of tests that start processes or threads over the service's modules hundreds of times. */
const modules = ["test/crash/Flips.ts", "test/crash/LogWriter.ts"] as const
type TestModule = (typeof modules)[number]

let built: Promise<string> | undefined

/** The file that Node runs, in the place of the command line's source. */
export const bundledEntry = async (): Promise<string> => join(await bundle(), "installed.js")

/** What a module of `modules` exports, out of the bundle: with copies of its own of all that it imports. */
export const bundledModule = async <A>(path: TestModule): Promise<A> =>
  import(/* @vite-ignore */ pathToFileURL(await bundledProgram(path)).href)

export const bundledProgram = async (path: TestModule): Promise<string> =>
  join(await bundle(), `${basename(path, ".ts")}.js`)

const bundle = (): Promise<string> => (built ??= build())

const build = async (): Promise<string> => {
  const folder = mkdtempSync(join(tmpdir(), "muniment-bundle-"))
  await buildService(
    repository,
    folder,
    modules.map((path) => join(repository, path))
  )
  const platform = platforms.find((one) => one === `${process.platform}-${process.arch}`)
  if (platform !== undefined) {
    const native = join(folder, "node_modules", "@muniment", `onnxruntime-${platform}`)
    mkdirSync(native, { recursive: true })
    buildNative(repository, join(repository, "node_modules", "onnxruntime-node"), platform, native)
  }
  return join(folder, "dist")
}

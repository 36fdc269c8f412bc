/**
 * Modules of tests that start processes or threads over the service's modules hundreds of times, bundled with these:
 * most of a start from the sources is finding and reading them. Built once per worker, into the run's temporary files.
 */
import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { pathToFileURL } from "node:url"
import { bundleClone } from "../../scripts/pack/ServiceBundle.ts"
import { repository } from "./TestServer.ts"

const modules = ["test/crash/Flips.ts", "test/crash/LogWriter.ts"] as const
type TestModule = (typeof modules)[number]

let built: Promise<string> | undefined

/** What a module of `modules` exports, out of the bundle: with copies of its own of all that it imports. */
export const bundledModule = async <A>(path: TestModule): Promise<A> =>
  import(/* @vite-ignore */ pathToFileURL(await bundledProgram(path)).href)

export const bundledProgram = async (path: TestModule): Promise<string> =>
  join(await (built ??= build()), `${basename(path, ".ts")}.js`)

const build = async (): Promise<string> => {
  const folder = mkdtempSync(join(tmpdir(), "muniment-bundle-"))
  await bundleClone(
    repository,
    folder,
    modules.map((path) => join(repository, path))
  )
  return join(folder, "dist")
}

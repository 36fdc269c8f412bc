/**
 * Modules of tests that start processes or threads over the service's modules many times, bundled with these: most of a
 * start from the sources is finding and reading them. Built where the sources are not those of a build that is there.
 */
import { readdirSync } from "node:fs"
import { basename, join } from "node:path"
import { pathToFileURL } from "node:url"
import { builtService } from "../../scripts/service.ts"
import { repository } from "./TestServer.ts"

const modules = [
  "test/crash/CommitLogWriter.ts",
  "test/crash/ConversationWriter.ts",
  "test/crash/Flips.ts",
  "test/crash/LogWriter.ts",
  "test/crash/SegmentWriter.ts"
] as const
export type TestModule = (typeof modules)[number]

/** What a module of `modules` exports, out of the bundle: with copies of its own of all that it imports. */
export const bundledModule = async <A>(path: TestModule): Promise<A> =>
  import(/* @vite-ignore */ pathToFileURL(await bundledProgram(path)).href)

export const bundledProgram = async (path: TestModule): Promise<string> =>
  join(await builtService({ entries: modules.map(inRepository), sources: sources() }), `${basename(path, ".ts")}.js`)

const inRepository = (path: string): string => join(repository, path)

/** What they import lies in these folders. */
const sources = (): ReadonlyArray<string> =>
  ["test/crash", "test/support"].map(inRepository).flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => name.endsWith(".ts"))
      .map((name) => join(folder, name))
  )

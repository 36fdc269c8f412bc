/**
 * The service and its command line as a clone runs them: bundled, since a start from some thousand modules takes four
 * times the processor time and twice the memory. Built where the sources are not those of a build that is there.
 */
import { createHash, randomUUID } from "node:crypto"
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs"
import { dirname, join, resolve } from "node:path"

const root = resolve(import.meta.dirname, "..")
const builds = join(root, "node_modules", ".cache", "service")
/** A service that runs may still load parts of an earlier one. */
const buildsKept = 8

/** A message for the person who runs the command. */
export class NotBuilt extends Error {}

/** More entries, which run over the service's modules. */
export interface OtherEntries {
  readonly entries: ReadonlyArray<string>
  /** Files that these consist of, beside the service's. */
  readonly sources: ReadonlyArray<string>
}

/** The file that Node runs. */
export const serviceEntry = async (): Promise<string> => join(await builtService(), "bin.js")

/** Environment in which Node keeps what it compiled of a build beside it, so that the next start need not. */
export const compiledOnce = (entry: string): { readonly NODE_COMPILE_CACHE: string } => ({
  NODE_COMPILE_CACHE: join(dirname(dirname(entry)), "compiled")
})

/** The folder of the built files. */
export const builtService = async (others: OtherEntries = { entries: [], sources: [] }): Promise<string> => {
  const folder = join(builds, sourcesDigest(others.sources))
  if (!existsSync(folder)) await build(folder, others.entries)
  return join(folder, "dist")
}

/** Beside its place first: two commands may build at once. */
const build = async (folder: string, others: ReadonlyArray<string>): Promise<void> => {
  const { bundleClone } = await import("./pack/ServiceBundle.ts")
  const unfinished = newFolder()
  try {
    await bundleClone(root, unfinished, others)
    if (!existsSync(folder)) renameSync(unfinished, folder)
  } finally {
    rmSync(unfinished, { recursive: true, force: true })
  }
  const oldestLast = readdirSync(builds)
    .map((name) => join(builds, name))
    .sort((one, other) => statSync(other).mtimeMs - statSync(one).mtimeMs)
  for (const old of oldestLast.slice(buildsKept)) rmSync(old, { recursive: true, force: true })
}

/** Its mode is by the umask, unlike that of `mkdtemp`: another user may run what one has built. */
const newFolder = (): string => {
  const folder = join(builds, `unfinished-${randomUUID()}`)
  try {
    mkdirSync(folder, { recursive: true })
  } catch (cause) {
    const { code = "" } = cause as NodeJS.ErrnoException
    if (!["EACCES", "EPERM", "EROFS"].includes(code)) throw cause
    throw new NotBuilt(
      `This clone is not built from its present sources, and this user may not write to ${builds}. Let its owner run "npm run setup", then run this again.`
    )
  }
  return folder
}

const sourcesDigest = (others: ReadonlyArray<string>): string => {
  const hash = createHash("sha256")
  const packages = readdirSync(join(root, "packages"))
    .map((name) => join(root, "packages", name))
    .filter((folder) => existsSync(join(folder, "package.json")) && existsSync(join(folder, "src")))
  const files = packages.flatMap((folder) => [
    join(folder, "package.json"),
    ...readdirSync(join(folder, "src"), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .map((name) => join(folder, "src", name))
  ])
  files.push(
    join(root, "package-lock.json"),
    join(root, "scripts/pack/ServiceBundle.ts"),
    import.meta.filename,
    ...others
  )
  for (const file of files.sort()) hash.update(file).update(readFileSync(file))
  return hash.digest("hex")
}

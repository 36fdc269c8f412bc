/**
 * The published adapters for agent frameworks, `packages/adapters/*`. They are compiled against their frameworks, which
 * are no part of the repository's installation: npm brings them, in the pinned versions of each manifest, into a folder
 * of their own.
 */
import { execFile } from "node:child_process"
import { copyFileSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"

const run = promisify(execFile)

interface Manifest {
  readonly name: string
  readonly version: string
  readonly license: string
  readonly exports: { readonly ".": string }
  readonly dependencies: Readonly<Record<string, string>>
  readonly peerDependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
}

const homeOf = (root: string, adapter: string): string => join(root, "packages", "adapters", adapter)
const manifestOf = (root: string, adapter: string): Manifest =>
  JSON.parse(readFileSync(join(homeOf(root, adapter), "package.json"), "utf8")) as Manifest

export const adapterNames = (root: string): ReadonlyArray<string> =>
  readdirSync(join(root, "packages", "adapters")).filter((name) => existsSync(join(homeOf(root, name), "package.json")))

/** What npm installs into `folder`: the frameworks of all adapters, the client's tarball, and the compiler's types. */
export const installFrameworks = async (root: string, folder: string, clientTarball: string): Promise<void> => {
  const pinned = adapterNames(root).flatMap((name) => Object.entries(manifestOf(root, name).devDependencies))
  const { devDependencies: own } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest
  const dependencies = {
    ...Object.fromEntries(pinned),
    "@muniment/client": `file:${clientTarball}`,
    "@types/node": own["@types/node"],
    typescript: own["typescript"]
  }
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module", dependencies }))
  await run("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--no-package-lock"], { cwd: folder })
}

/** Strictly, with declarations, from `source` below the folder of `installFrameworks`. */
export const compileStrictly = async (folder: string, source: string, into: string): Promise<void> => {
  const compilerOptions = {
    target: "es2023",
    module: "nodenext",
    lib: ["es2023", "dom", "dom.iterable"],
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    verbatimModuleSyntax: true,
    rewriteRelativeImportExtensions: true,
    declaration: true,
    // Declarations of the frameworks have faults of their own.
    skipLibCheck: true,
    types: ["node"],
    rootDir: source,
    outDir: into
  }
  const settings = join(folder, `${source.replaceAll("/", "-")}.json`)
  writeFileSync(settings, JSON.stringify({ compilerOptions, include: [`${source}/**/*.ts`] }))
  const compiler = join(folder, "node_modules", ".bin", "tsc")
  await run(compiler, ["-p", settings], { cwd: folder }).catch((error: Error & { stdout?: string }) => {
    throw new Error(`${source}: ${error.stdout ?? error.message}`, { cause: error })
  })
}

/** Makes the package as it is published, in `node_modules` of the folder; its place. */
export const buildAdapter = async (root: string, folder: string, adapter: string): Promise<string> => {
  const home = homeOf(root, adapter)
  const { dependencies, exports, license, name, peerDependencies, version } = manifestOf(root, adapter)
  const place = join(folder, "node_modules", ...name.split("/"))
  mkdirSync(place, { recursive: true })
  cpSync(join(home, "src"), join(folder, "src", adapter), { recursive: true })
  await compileStrictly(folder, `src/${adapter}`, join(place, "dist"))
  const main = exports["."].replace("./src/", "./dist/").replace(/\.ts$/, "")
  const manifest = {
    name,
    version,
    license,
    type: "module",
    exports: { ".": { types: `${main}.d.ts`, default: `${main}.js` } },
    files: ["dist"],
    dependencies,
    peerDependencies
  }
  writeFileSync(join(place, "package.json"), `${JSON.stringify(manifest, undefined, 2)}\n`)
  copyFileSync(join(home, "README.md"), join(place, "README.md"))
  copyFileSync(join(root, "LICENSE"), join(place, "LICENSE"))
  return place
}

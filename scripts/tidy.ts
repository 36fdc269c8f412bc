/**
 * The house rules as a program: floor plan, sizes, bans, pins. Run it for the list (exit code 1 when
 * there is one); `test/component/scripts/tidy.test.ts` runs it with the tests. It looks at every file
 * that git tracks or would track.
 */
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { banFindings } from "./tidy/Bans.ts"
import { circleFindings } from "./tidy/Circles.ts"
import { type Citable, citationFindings, headingsOf, limitNames } from "./tidy/Citations.ts"
import { conventionFindings } from "./tidy/Conventions.ts"
import { type Finding, findingText } from "./tidy/Finding.ts"
import { floorFindings, type Manifest } from "./tidy/Floors.ts"
import { importGraph } from "./tidy/ImportGraph.ts"
import { commentsOf, paragraphsOf, type Prose } from "./tidy/Prose.ts"
import { rawOpenFindings } from "./tidy/RawOpens.ts"
import { manifestFindings, readmeFindings, type TextFile, textFindings } from "./tidy/Repository.ts"
import { headerFindings, patternFindings, shareFindings, sizeFindings } from "./tidy/Sizes.ts"
import { makeSourceFile, type SourceFile } from "./tidy/SourceFile.ts"

/** The tidy rules and their samples name what they ban. */
const namesWhatItBans = /^(?:scripts\/tidy\/|test\/(?:unit|component)\/scripts\/)/
/** Text from elsewhere. */
const foreignText = /^(?:LICENSE|package-lock\.json)$/
const scriptFile = /^(?:packages|scripts|bench|test)\/.*\.(?:ts|mts|mjs)$/
const binaryFile = /\.(?:png|jpg|gz|zip|db|onnx|bin|wasm)$/
const listingBytesMax = 64 * 1024 * 1024

export const tidy = (root: string): ReadonlyArray<Finding> => {
  const files = textFiles(root)
  const sources = files.filter(({ path }) => scriptFile.test(path)).map(({ path, text }) => makeSourceFile(path, text))
  const manifests = new Map(files.filter(({ path }) => path.endsWith("package.json")).map((file) => [file.path, file]))
  const manifestOf = (packageName: string | undefined): Manifest | undefined => {
    const own = manifests.get(`packages/${packageName}/package.json`)
    const shared = manifests.get("package.json")
    return own === undefined || shared === undefined ? undefined : { dependencies: declared([own, shared]) }
  }
  const citable = citableOf(files)
  return [
    ...sources.flatMap((file) => floorFindings(file, manifestOf(file.packageName))),
    ...circleFindings(importGraph(sources)),
    ...sources.flatMap(sizeFindings),
    ...sources.flatMap(patternFindings),
    ...sources.flatMap(headerFindings),
    ...shareFindings(sources),
    ...sources.filter(({ path }) => !namesWhatItBans.test(path)).flatMap(banFindings),
    ...sources.flatMap(rawOpenFindings),
    ...sources.flatMap(conventionFindings),
    ...proseOf(files, sources).flatMap((prose) => citationFindings(prose, citable)),
    ...[...manifests.values()].flatMap(manifestFindings),
    ...files.filter(({ path }) => !namesWhatItBans.test(path) && !foreignText.test(path)).flatMap(textFindings),
    ...readmeFindings(files.map(({ path }) => path))
  ]
}

/** The tidy rules and their samples cite what does not exist. */
const proseOf = (files: ReadonlyArray<TextFile>, sources: ReadonlyArray<SourceFile>): ReadonlyArray<Prose> => [
  ...sources.filter(({ path }) => !namesWhatItBans.test(path)).flatMap(commentsOf),
  ...files.filter(({ path }) => path.endsWith(".md")).flatMap(({ path, text }) => paragraphsOf(path, text))
]

const citableOf = (files: ReadonlyArray<TextFile>): Citable => {
  const textOf = (wanted: string): string => files.find(({ path }) => path === wanted)?.text ?? ""
  return {
    paths: new Set(files.map(({ path }) => path)),
    sections: headingsOf(textOf("packages/domain/README.md")),
    limits: limitNames(textOf("packages/domain/src/Limits.ts"))
  }
}

const textFiles = (root: string): ReadonlyArray<TextFile> => {
  const listing = spawnSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "-z"], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: listingBytesMax
  })
  if (listing.status !== 0) throw new Error(`git cannot list the files: ${listing.stderr}`)
  return listing.stdout
    .split("\0")
    .filter((path) => path !== "" && !binaryFile.test(path) && existsSync(join(root, path)))
    .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }))
}

/** The package's own dependencies, and the root's optional ones, which may be missing at run time. */
const declared = ([own, shared]: readonly [TextFile, TextFile]): ReadonlySet<string> => {
  const { dependencies = {} } = JSON.parse(own.text) as { readonly dependencies?: Record<string, string> }
  const { optionalDependencies = {} } = JSON.parse(shared.text) as {
    readonly optionalDependencies?: Record<string, string>
  }
  return new Set([...Object.keys(dependencies), ...Object.keys(optionalDependencies)])
}

if (import.meta.main) {
  const findings = tidy(resolve(import.meta.dirname, ".."))
  for (const finding of findings) process.stdout.write(`${findingText(finding)}\n`)
  process.stdout.write(findings.length === 0 ? "tidy: all rules hold\n" : `tidy: ${findings.length} findings\n`)
  process.exitCode = findings.length === 0 ? 0 : 1
}

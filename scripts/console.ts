/**
 * Builds the console (`packages/console`) into its folder `dist`: a page, one script, one style sheet, their names with
 * digests of their content, so that browsers may keep them for good. Does nothing where the sources are those of the
 * last build. Called by the set-up; `node scripts/console.ts` builds in any case and prints what it weighs.
 */
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { basename, join, resolve } from "node:path"
import { gzipSync } from "node:zlib"

const root = resolve(import.meta.dirname, "..")
const sources = join(root, "packages", "console", "src")
const output = join(root, "packages", "console", "dist")
const stamp = join(output, "sources.sha256")

/** The packed size of all files of a first visit. */
export const packedBytesMax = 110 * 1024

/** Builds the console if it is not there or its sources have changed. */
export const ensureConsole = async (): Promise<void> => {
  const digest = sourcesDigest()
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === digest) return
  await buildConsole()
  writeFileSync(stamp, digest)
}

/** Names of the files made, with their packed sizes in bytes. */
export const buildConsole = async (
  folder = output
): Promise<ReadonlyArray<{ readonly name: string; readonly packedBytes: number }>> => {
  const { build } = await import("esbuild")
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const { metafile } = await build({
    entryPoints: [join(sources, "main.tsx"), join(sources, "style.css")],
    outdir: join(folder, "assets"),
    entryNames: "[name]-[hash]",
    absWorkingDir: root,
    bundle: true,
    minify: true,
    format: "esm",
    target: ["es2022"],
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
    metafile: true,
    logLevel: "warning"
  })
  const files = Object.keys(metafile.outputs).map((path) => basename(path))
  const named = (extension: string) => files.find((name) => name.endsWith(extension)) ?? ""
  writeFileSync(join(folder, "index.html"), page(named(".js"), named(".css")))
  return ["index.html", ...files.map((name) => join("assets", name))].map((name) => ({
    name,
    packedBytes: gzipSync(readFileSync(join(folder, name)), { level: 9 }).length
  }))
}

/** Paths are relative to `/console`, so that a proxy may serve it below a path. */
const page = (script: string, style: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Muniment console</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="console/assets/${style}">
<script type="module" src="console/assets/${script}"></script>
</head>
<body>
<div id="app"><noscript>The console needs JavaScript.</noscript></div>
</body>
</html>
`

const sourcesDigest = (): string => {
  const hash = createHash("sha256")
  const names = readdirSync(sources, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
  for (const name of [...names, join(root, "packages", "console", "package.json"), import.meta.filename]) {
    hash.update(name.slice(root.length)).update(readFileSync(name))
  }
  return hash.digest("hex")
}

if (process.argv[1] === import.meta.filename) {
  const files = await buildConsole()
  writeFileSync(stamp, sourcesDigest())
  const total = files.reduce((sum, { packedBytes }) => sum + packedBytes, 0)
  for (const { name, packedBytes } of files) process.stdout.write(`${name}: ${packedBytes} bytes packed\n`)
  process.stdout.write(`${total} of ${packedBytesMax} bytes\n`)
  if (total > packedBytesMax) process.exitCode = 1
}

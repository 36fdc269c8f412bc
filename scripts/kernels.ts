/**
 * Builds the WebAssembly kernels of the vector index from `packages/engine/kernels`, with a compiler that comes as a
 * package. Done by the set-up whenever the sources or the compiler have changed; by hand: `node scripts/kernels.ts`.
 */
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join, resolve } from "node:path"
import { kernelsFile } from "@muniment/engine/index/kernelsFile"

const sources = resolve(import.meta.dirname, "..", "packages", "engine", "kernels")
const stampFile = `${kernelsFile}.sha256`

/** True when something had to be built. */
export const buildKernels = async (): Promise<boolean> => {
  const stamp = sourcesHash()
  if (existsSync(kernelsFile) && existsSync(stampFile) && readFileSync(stampFile, "utf8") === stamp) return false
  mkdirSync(dirname(kernelsFile), { recursive: true })
  // Loaded only when it is needed: the compiler is large.
  const { default: asc } = await import("assemblyscript/asc")
  const aside = `${kernelsFile}.new`
  const { error, stderr } = await asc.main([
    join(sources, "index.ts"),
    "--outFile",
    aside,
    "-O3",
    "--converge",
    "--runtime",
    "stub",
    "--importMemory",
    "--noExportMemory",
    "--use",
    "abort=",
    "--enable",
    "simd",
    "--enable",
    "relaxed-simd"
  ])
  if (error !== null) throw new Error(`the kernels of the vector index cannot be built: ${stderr.toString()}`)
  renameSync(aside, kernelsFile)
  writeFileSync(stampFile, stamp)
  return true
}

const sourcesHash = (): string => {
  const hash = createHash("sha256").update(compilerVersion())
  for (const name of readdirSync(sources).sort()) hash.update(name).update(readFileSync(join(sources, name)))
  return hash.digest("hex")
}

const compilerVersion = (): string => {
  const manifest: unknown = createRequire(import.meta.url)("assemblyscript/package.json")
  return typeof manifest === "object" && manifest !== null && "version" in manifest ? String(manifest.version) : ""
}

if (import.meta.main) {
  process.stdout.write((await buildKernels()) ? "The kernels are built.\n" : "The kernels are up to date.\n")
}

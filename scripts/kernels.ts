/**
 * Compiles the AssemblyScript kernels to WebAssembly. The compiled files are committed, so that the service needs no
 * compiler: run `node scripts/kernels.ts` after a change of a kernel and commit both. With `--check` nothing is
 * written; it fails unless the committed files equal a fresh build byte for byte.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import asc from "assemblyscript/asc"

const root = resolve(import.meta.dirname, "..")
const modules: ReadonlyArray<{ readonly entry: string; readonly output: string }> = [
  { entry: "packages/engine/kernels/index.ts", output: "packages/engine/kernels/kernels.wasm" },
  { entry: "packages/insight/kernels/rowProducts.ts", output: "packages/insight/kernels/rowProducts.wasm" }
]
const options =
  "-O3 --converge --runtime stub --use abort= --importMemory --noExportMemory --enable simd --enable relaxed-simd"

const compile = async (entry: string): Promise<Uint8Array> => {
  let compiled: Uint8Array | undefined
  const { error, stderr } = await asc.main([join(root, entry), "--outFile", "kernels.wasm", ...options.split(" ")], {
    writeFile: (_name, contents) => {
      if (typeof contents !== "string") compiled = contents
    }
  })
  if (error !== null) throw new Error(`${entry} does not compile:\n${stderr.toString()}`)
  if (compiled === undefined) throw new Error(`the compiler wrote nothing for ${entry}`)
  return compiled
}

const isCheck = process.argv.includes("--check")
for (const { entry, output } of modules) {
  const file = join(root, output)
  const fresh = await compile(entry)
  const isCurrent = existsSync(file) && readFileSync(file).equals(fresh)
  if (!isCurrent && !isCheck) writeFileSync(file, fresh)
  if (!isCurrent && isCheck) process.exitCode = 1
  const verdict = isCurrent ? "is current" : isCheck ? "differs from its sources: run node scripts/kernels.ts" : "built"
  process.stdout.write(`${output} ${verdict} (${fresh.length} bytes)\n`)
}

/**
 * The folder of the published `@muniment/client`: ES modules with declarations and no dependency, for Node 18 and
 * later, Deno, Bun, browsers and workers. In the repository the package's exports are its sources.
 */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { compileClient } from "./ClientTypes.ts"

/** The packed size of the tarball. */
export const clientBytesMax = 48 * 1024

export const buildClient = (root: string, folder: string): void => {
  const home = join(root, "packages", "client")
  const { license, name, version } = JSON.parse(readFileSync(join(home, "package.json"), "utf8")) as Manifest
  mkdirSync(join(folder, "dist"), { recursive: true })
  for (const [file, text] of compileClient(root, join(home, "src"))) writeFileSync(join(folder, "dist", file), text)
  const manifest = {
    name,
    version,
    description: "Typed client of Muniment, long-term memory for software agents",
    license,
    type: "module",
    sideEffects: false,
    engines: { node: ">=18" },
    exports: {
      ".": { types: "./dist/Muniment.d.ts", default: "./dist/Muniment.js" },
      "./*": { types: "./dist/*.d.ts", default: "./dist/*.js" }
    },
    files: ["dist"]
  }
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, undefined, 2)}\n`)
  // Its decisions are for those who work on it.
  const [readme = ""] = readFileSync(join(home, "README.md"), "utf8").split("\n## Decisions\n")
  writeFileSync(join(folder, "README.md"), readme)
  copyFileSync(join(root, "LICENSE"), join(folder, "LICENSE"))
}

interface Manifest {
  readonly name: string
  readonly version: string
  readonly license: string
}

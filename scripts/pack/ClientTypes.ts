/**
 * The declarations of the published client. Its types are derived from the contract, hence from Effect; here the
 * compiler writes them out, so that users need neither. Invariant: no declaration imports another package, and none is
 * cut short; packing fails otherwise.
 */
import { spawnSync } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join, relative } from "node:path"

/** The types of `Endpoints.ts` that are written out. */
const writtenTypes = ["Endpoints", "Grant", "GrantPayload", "PaymentNetwork", "PaymentRequiredBody"] as const

const writerName = "WrittenEndpoints"

/**
 * JSON is recursive and has to be named; everything else is spelled out. The compiler prints the type of a constant
 * whose type is inferred, which makes it resolve the types of the contract.
 */
const writer = (): string => `
import type { ${writtenTypes.map((name) => `${name} as ${name}Type`).join(", ")} } from "@muniment/client/Endpoints"
export interface JsonArray extends ReadonlyArray<Json> {}
export interface JsonObject { readonly [key: string]: Json }
export type Json = string | number | boolean | null | JsonArray | JsonObject
type IsSame<One, Other> = [One] extends [Other] ? ([Other] extends [One] ? true : false) : false
type IsJsonObject<T> = string extends keyof T ? IsSame<T[string & keyof T], Json> : false
type Written<T> = unknown extends T
  ? T
  : IsSame<T, Json> extends true
    ? Json
    : IsJsonObject<T> extends true
      ? JsonObject
      : T extends string | number | boolean | null | undefined
        ? T
        : { [Key in keyof T]: Written<T[Key]> }
declare const written: <T>() => Written<T>
${writtenTypes.map((name) => `export const ${name} = written<${name}Type>()`).join("\n")}
`

/** ES modules with their declarations, by file name, from the sources in `sources`. */
export const compileClient = (root: string, sources: string): ReadonlyMap<string, string> => {
  const work = mkdtempSync(join(root, "node_modules", ".pack-client-"))
  try {
    writeFileSync(join(work, `${writerName}.ts`), writer())
    writeFileSync(join(work, "tsconfig.json"), JSON.stringify(settings(root, sources, work)))
    const compiler = compilerOf(root)
    const { status, stdout } = spawnSync(compiler, ["-p", join(work, "tsconfig.json")], { encoding: "utf8" })
    if (status !== 0) throw new Error(`the client does not compile:\n${stdout}`)
    const emitted = (folder: string) => join(work, "out", relative(root, folder))
    return published(emitted(sources), join(emitted(work), `${writerName}.d.ts`))
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

const compilerOf = (root: string): string => {
  const { status, stderr, stdout } = spawnSync(join(root, "node_modules", ".bin", "effect-tsgo"), ["get-exe-path"], {
    encoding: "utf8"
  })
  if (status !== 0) throw new Error(`effect-tsgo does not name its compiler: ${stderr}`)
  return stdout.trim()
}

const settings = (root: string, sources: string, work: string): object => ({
  extends: join(root, "tsconfig.json"),
  compilerOptions: {
    noEmit: false,
    declaration: true,
    rewriteRelativeImportExtensions: true,
    noErrorTruncation: true,
    target: "es2022",
    outDir: join(work, "out"),
    rootDir: root,
    typeRoots: [join(root, "node_modules", "@types")],
    plugins: []
  },
  include: [join(sources, "*.ts"), join(work, `${writerName}.ts`)],
  exclude: []
})

const published = (folder: string, written: string): ReadonlyMap<string, string> => {
  const files = new Map<string, string>()
  for (const name of readdirSync(folder).sort()) files.set(name, readFileSync(join(folder, name), "utf8"))
  files.set("Endpoints.d.ts", writtenOut(readFileSync(written, "utf8")))
  // Types alone: nothing is loaded from it.
  files.set("Endpoints.js", "export {}\n")
  for (const [name, text] of files) {
    if (name.endsWith(".d.ts")) files.set(name, declarationOf(name, text))
  }
  return files
}

const writtenOut = (text: string): string => {
  const declared = text
    .replace(/^import .*\n/gm, "")
    .replace(/^declare const written[^\n]*\n/gm, "")
    .replace(/^type (?:IsSame|IsJsonObject|Written)<[\s\S]*?;\n(?=\w)/gm, "")
    .replace(/^export declare const (\w+): /gm, "export type $1 = ")
    // Without exactOptionalPropertyTypes what is never there is undefined, which an index signature has to allow.
    .replace(/readonly \[x: string\]: Json;(?=\s+readonly \w+\?: never;)/g, "readonly [x: string]: Json | undefined;")
    .replace(/^ {4,}/gm, (indent) => " ".repeat(indent.length / 2))
  return `/** What goes into each endpoint under /v1 and what comes out; written out of the service's contract. */\n${declared}`
}

/** Compilers before 5.7 know no type parameter of `Uint8Array`. */
const declarationOf = (name: string, text: string): string => {
  const declaration = text
    .replaceAll("Uint8Array<ArrayBuffer>", "Uint8Array")
    .replace(/(from |import\()"(\.\/\w+)\.ts"/g, '$1"$2.js"')
  const foreign = /(?:from |import\()"[^.]|elided|\bany\b/.exec(declaration.replace(/\/\*\*[\s\S]*?\*\//g, ""))
  if (foreign !== null)
    throw new Error(`${name} is not complete in itself: ${declaration.slice(foreign.index, foreign.index + 200)}`)
  return declaration
}

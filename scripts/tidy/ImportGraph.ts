/** Which file of the tree imports which. Imports of packages from npm, of JSON and of data are left out. */
import { posix } from "node:path"
import { importsOf, type SourceFile } from "./SourceFile.ts"

export interface Arrow {
  readonly to: string
  readonly isTypeOnly: boolean
  readonly line: number
}

/** Path -> what it imports, in the order of the file. */
export type ImportGraph = ReadonlyMap<string, ReadonlyArray<Arrow>>

export const importGraph = (files: ReadonlyArray<SourceFile>): ImportGraph => {
  const paths = new Set(files.map(({ path }) => path))
  return new Map(
    files.map((file) => [
      file.path,
      importsOf(file).flatMap(({ specifier, isTypeOnly, line }) => {
        const to = pathOf(file.path, specifier)
        return to !== undefined && paths.has(to) ? [{ to, isTypeOnly, line }] : []
      })
    ])
  )
}

const pathOf = (from: string, specifier: string): string | undefined => {
  if (specifier.startsWith(".")) return posix.join(posix.dirname(from), specifier)
  const own = /^@muniment\/([^/]+)\/(.+)$/.exec(specifier)
  return own === null ? undefined : `packages/${own[1]}/src/${own[2]}.ts`
}

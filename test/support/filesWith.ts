/** Names of the files below a directory that hold a text or bytes, as paths from the directory. */
import { readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"

export const filesWith = (directory: string, needle: string | Buffer): ReadonlyArray<string> =>
  readdirSync(directory, { recursive: true, encoding: "utf8" }).filter((name) => {
    const path = join(directory, name)
    return statSync(path).isFile() && readFileSync(path).includes(needle)
  })

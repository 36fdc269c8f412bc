/** How long each test file took, in seconds, as `npm test -- --record` noted it. */
import { join, relative, resolve } from "node:path"

export const fileSecondsFile = join(import.meta.dirname, "fileSeconds.json")
const repository = resolve(import.meta.dirname, "../..")

/** As the notes name a file. */
export const nameOfFile = (path: string): string => relative(repository, path).replaceAll("\\", "/")

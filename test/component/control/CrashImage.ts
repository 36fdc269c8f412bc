/** The files of a data directory as a power cut leaves them: no process closed them. */
import { copyFileSync, existsSync } from "node:fs"
import { join } from "node:path"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"

export const crashImage = (directory: string): string => {
  const image = temporaryDirectory()
  for (const name of ["control.db", "control.db-wal"]) {
    if (existsSync(join(directory, name))) copyFileSync(join(directory, name), join(image, name))
  }
  return image
}

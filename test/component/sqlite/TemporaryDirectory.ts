/** A directory per test on the real file system, removed when the test file ends. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll } from "vitest"

const made: Array<string> = []

export const temporaryDirectory = (): string => {
  const path = mkdtempSync(join(tmpdir(), "muniment-"))
  made.push(path)
  return path
}

afterAll(() => {
  for (const path of made.splice(0)) rmSync(path, { recursive: true, force: true })
})

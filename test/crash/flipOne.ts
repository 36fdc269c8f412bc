/** A flipped bit in one of some files. */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { SeededRandom } from "../support/SeededRandom.ts"

/** A bit near bytes that hold something; -> where. */
export const flipOne = (directory: string, files: ReadonlyArray<string>, random: SeededRandom): string => {
  const file = random.pick(files)!
  const bytes = readFileSync(join(directory, file))
  let at = random.between(0, bytes.length - 1)
  while (bytes.subarray(Math.max(0, at - 32), at + 32).every((byte) => byte === 0))
    at = random.between(0, bytes.length - 1)
  const bit = random.between(0, 7)
  bytes[at]! ^= 1 << bit
  writeFileSync(join(directory, file), bytes)
  return `${file}, byte ${at}, bit ${bit}`
}

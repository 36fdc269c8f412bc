/** Writes `test/vectors/`: `node test/support/writeTrustVectors.ts`. Needed when a vector is added. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { makeTrustVectors } from "./TrustVectors.ts"

const directory = join(import.meta.dirname, "..", "vectors")
for (const [name, content] of Object.entries(await makeTrustVectors())) {
  writeFileSync(join(directory, name), `${JSON.stringify(content, undefined, 2)}\n`)
}

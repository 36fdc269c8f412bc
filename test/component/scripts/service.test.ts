/** The bundle that a clone's commands run (`scripts/service.ts`). */
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { expect, it } from "vitest"
import { builtService } from "../../../scripts/service.ts"

it("is open to other users as far as the umask says, so that they can run what root has built", async () => {
  const own = mkdtempSync(join(tmpdir(), "muniment-build-"))
  const source = join(own, "source.ts")
  // A source that no other build has.
  writeFileSync(source, `// ${own}`)
  const dist = await builtService({ entries: [], sources: [source] })
  try {
    const modeOf = (path: string) => statSync(path).mode & 0o777
    const open = 0o777 & ~process.umask()
    expect([dirname(dist), dist].map(modeOf)).toEqual([open, open])
    expect(modeOf(join(dist, "bin.js"))).toBe(open & 0o666)
  } finally {
    rmSync(dirname(dist), { recursive: true })
    rmSync(own, { recursive: true })
  }
})

/** The bundle that a clone's commands run (`scripts/service.ts`). */
import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"
import { expect, it } from "vitest"

const script = resolve(import.meta.dirname, "../../../scripts/service.ts")

it("is open to other users as far as the umask says, so that they can run what root has built", () => {
  const own = mkdtempSync(join(tmpdir(), "muniment-build-"))
  const source = join(own, "source.ts")
  // A source that no other build has.
  writeFileSync(source, `// ${own}`)
  // In a process of its own: a bundler that is at work already keeps the umask of its start.
  const others = JSON.stringify({ entries: [], sources: [source] })
  const program = `const { builtService } = await import(${JSON.stringify(script)})
    process.umask(0o027)
    process.stdout.write(await builtService(${others}))`
  const dist = execFileSync(process.execPath, ["--input-type=module", "-e", program], { encoding: "utf8" })
  try {
    const modeOf = (path: string) => statSync(path).mode & 0o777
    expect([dirname(dist), dist].map(modeOf)).toEqual([0o750, 0o750])
    expect(modeOf(join(dist, "bin.js"))).toBe(0o640)
  } finally {
    rmSync(dirname(dist), { recursive: true })
    rmSync(own, { recursive: true })
  }
})

/** The service under a seeded world of callers, crashes and power cuts. Replay: `npm run simulate -- --seeds 1 --seed <seed>`. */
import { describe, expect, it } from "vitest"
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { repetitions } from "../../support/Repetitions.ts"
import { mutations } from "./mutations.ts"

const seeds = repetitions(200)

const repository = fileURLToPath(new URL("../../..", import.meta.url))
const program = fileURLToPath(new URL("./simulate.ts", import.meta.url))

/** In a process of its own: ports go under modules while they load. */
const simulate = (...options: ReadonlyArray<string>) => {
  const { status, stderr, stdout } = spawnSync(
    process.execPath,
    ["--disable-warning=ExperimentalWarning", program, ...options],
    { encoding: "utf8" }
  )
  return { status, told: `${stdout}${stderr}` }
}

describe("the simulated service", () => {
  it(`holds what it promised its callers, in ${seeds} seeds`, () => {
    expect(simulate("--seeds", String(seeds), "--seed", "1", "--processes", "2")).toEqual({
      status: 0,
      told: expect.stringContaining(`${seeds} of ${seeds} seeds passed (1 to ${seeds})`)
    })
  })

  it.each([
    { world: "engine", seeds: "4" },
    { world: "whole", seeds: "1" }
  ])("replays a seed of the world $world bit for bit", ({ seeds, world }) => {
    expect(simulate("--world", world, "--seeds", seeds, "--seed", "9001", "--replay")).toEqual({
      status: 0,
      told: expect.stringContaining("no fault")
    })
  })

  it.each(mutations)("can put in: $name", ({ file, from }) => {
    expect(readFileSync(join(repository, file), "utf8").split(from)).toHaveLength(2)
  })

  it.each(["the log's sync left out", "idempotency result not in the commit", "what a crash cut off is free"])(
    "finds a fault: %s",
    (name) => {
      expect(mutations.map((mutation) => mutation.name)).toContain(name)
      expect(simulate("--mutations", "--mutation", name, "--world", "engine")).toMatchObject({
        status: 0,
        told: expect.stringMatching(/\| seed \d+ .*\(passes without the mutation\)$/m)
      })
    }
  )
})

/** A fault that was put in is found by a seed that fails because of it. */
import { describe, expect, it } from "vitest"
import { type SimulatorRun, searchMutation } from "./MutationRuns.ts"

const mutation = { name: "a sync left out", file: "Log.ts", from: "sync()", to: "" }
const search = { first: "20000", seeds: 1_000, world: "engine" }
const failed = { status: 1, stdout: "seed 20003 (log), step 7: key-1 is lost\n" }
const passed = { status: 0, stdout: "1 seeds from 20003: no fault; 3 crashes, 20 answers\n" }

/** -> the verdict, and what was run; `without` answers for runs without the mutation. */
const searched = (within: SimulatorRun, without: SimulatorRun) => {
  const runs: Array<string> = []
  const verdict = searchMutation(mutation, search, (options) => {
    runs.push(options.join(" "))
    return options.includes("--mutation") ? within : without
  })
  return { verdict, runs }
}

describe("the search of a mutation", () => {
  it("runs the seed that failed again without the mutation, in the same world", () => {
    expect(searched(failed, passed)).toEqual({
      verdict: { isFound: true, told: "seed 20003 (log), step 7: key-1 is lost (passes without the mutation)" },
      runs: [
        "--mutation a sync left out --world engine --seeds 1000 --seed 20000",
        "--world engine --seeds 1 --seed 20003"
      ]
    })
  })

  it("does not count a seed that fails without the mutation as well", () => {
    const { verdict } = searched(failed, { ...failed, stdout: "seed 20003 (log), step 9: key-2 is there twice\n" })
    expect(verdict).toEqual({
      isFound: false,
      told: expect.stringMatching(/^NOT SHOWN: seed 20003 .*key-1 is lost; without the mutation, too: .*key-2/)
    })
  })

  it("does not count a seed that cannot run without the mutation", () => {
    expect(searched(failed, { status: null, stdout: "" }).verdict).toMatchObject({ isFound: false })
  })

  it.each([
    { name: "no seed failed", run: passed },
    { name: "the run could not begin", run: { status: 1, stdout: "" } }
  ])("finds nothing when $name", ({ run }) => {
    const { runs, verdict } = searched(run, passed)
    expect(verdict).toEqual({ isFound: false, told: "NOT FOUND" })
    expect(runs).toHaveLength(1)
  })
})

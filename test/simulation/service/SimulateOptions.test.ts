import { availableParallelism } from "node:os"
import { describe, expect, it } from "vitest"
import { mutations } from "./mutations.ts"
import { parseOptions } from "./SimulateOptions.ts"

describe("the options of the simulator", () => {
  it("are 200 seeds of both worlds by default", () => {
    expect(parseOptions([])).toMatchObject({ seeds: 200, seed: 1, world: "both", steps: 120 })
  })

  it("are one process, and all processors for a run that can be resumed", () => {
    expect(parseOptions([]).processes).toBe(1)
    expect(parseOptions(["--progress", "file"]).processes).toBe(availableParallelism())
  })

  it("are taken as they are said", () => {
    const said = ["--seeds", "3", "--seed", "0", "--world", "whole", "--replay"]
    expect(parseOptions(said)).toMatchObject({ seeds: 3, seed: 0, world: "whole", replay: true })
    expect(parseOptions(["--mutation", mutations[0]!.name]).mutation).toBe(mutations[0]!.name)
  })

  it.each([
    [["--seeds", "many"], "--seeds takes a whole number from 0"],
    [["--seed", "-1"], "--seed"],
    [["--steps", "1e3"], "--steps takes a whole number from 1"],
    [["--world", "all"], "--world takes engine, whole, both"],
    [["--mutation", "none such"], "--mutation takes"],
    [["--sedes", "1"], "--sedes"]
  ])("are refused where they say nothing that is known: %j", (said, sentence) => {
    expect(() => parseOptions(said)).toThrow(sentence)
  })
})

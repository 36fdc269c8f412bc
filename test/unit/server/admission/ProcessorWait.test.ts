/** The share of the time without a processor, of the thread that waited longest. */
import { expect, it } from "vitest"
import { ProcessorWait } from "@muniment/server/admission/ProcessorWait"

/** After looks every 100 ms, each of which finds what the threads have waited so far. */
const after = (...waits: ReadonlyArray<Readonly<Record<string, number>>>) => {
  const left = waits.map((wait) => new Map(Object.entries(wait)))
  const wait = new ProcessorWait(0, () => left.shift()!)
  for (let look = 1; look < waits.length; look += 1) wait.look(look * 100)
  return wait.share
}

it("takes the thread that waited longest", () => {
  expect(after({ main: 1_000, log: 40 }, { main: 1_020, log: 100 })).toBeCloseTo(0.6)
})

it("counts the time between the last two looks alone", () => {
  expect(after({ main: 0 }, { main: 90 }, { main: 100 })).toBeCloseTo(0.1)
})

it("counts nothing of a thread before it was first seen, or after its end", () => {
  expect(after({ main: 0 }, { main: 10, new: 5_000 })).toBeCloseTo(0.1)
  expect(after({ main: 0, ended: 50 }, { main: 10 })).toBeCloseTo(0.1)
})

it("is never more than the whole time, and stays as it is within one moment", () => {
  const wait = new ProcessorWait(0, () => new Map([["main", 500]]))
  wait.look(0)
  expect(wait.share).toBe(0)
  expect(after({ main: 0 }, { main: 500 })).toBe(1)
})

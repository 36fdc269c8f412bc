/** The share of the time without a processor, of the thread that waited longest. */
import { expect, it } from "vitest"
import { ProcessorWait } from "@muniment/server/admission/ProcessorWait"

const after = (...waits: ReadonlyArray<ReadonlyMap<string, number>>) => {
  const left = [...waits]
  const wait = new ProcessorWait(0, () => left.shift()!)
  for (let look = 1; look < waits.length; look += 1) wait.look(look * 100)
  return wait.share
}

it("takes the thread that waited longest", () => {
  const before = new Map([
    ["main", 1_000],
    ["log", 40]
  ])
  const now = new Map([
    ["main", 1_020],
    ["log", 100]
  ])
  expect(after(before, now)).toBeCloseTo(0.6)
})

it("counts the time between the last two looks alone", () => {
  expect(after(new Map([["main", 0]]), new Map([["main", 90]]), new Map([["main", 100]]))).toBeCloseTo(0.1)
})

it("counts nothing of a thread before it was first seen, or after its end", () => {
  expect(
    after(
      new Map([["main", 0]]),
      new Map([
        ["main", 10],
        ["new", 5_000]
      ])
    )
  ).toBeCloseTo(0.1)
  expect(
    after(
      new Map([
        ["main", 0],
        ["ended", 50]
      ]),
      new Map([["main", 10]])
    )
  ).toBeCloseTo(0.1)
})

it("is never more than the whole time, and stays as it is within one moment", () => {
  const wait = new ProcessorWait(0, () => new Map([["main", 500]]))
  wait.look(0)
  expect(wait.share).toBe(0)
  expect(after(new Map([["main", 0]]), new Map([["main", 500]]))).toBe(1)
})

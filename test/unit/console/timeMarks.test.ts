/** Marks of the time axis of the console's charts. */
import { describe, expect, it } from "vitest"
import { timeMarks } from "../../../packages/console/src/service/dates.ts"

/** In the time zone of the machine, as a reader has it. */
const at = (day: number, hour: number, minute = 0): number => new Date(2026, 10, day, hour, minute).getTime()

const texts = (from: number, to: number) => timeMarks(from, to).map(({ text }) => text)

describe("marks of a time axis", () => {
  it("stand at round times of the reader's clock", () => {
    expect(timeMarks(at(25, 9, 7), at(25, 9, 13))).toEqual(
      [8, 10, 12].map((minute) => ({ at: at(25, 9, minute), text: `09:${String(minute).padStart(2, "0")}` }))
    )
    expect(texts(at(25, 9, 7), at(25, 10, 7))).toEqual(["09:15", "09:30", "09:45", "10:00"])
  })

  it("say the day at midnight", () => {
    expect(texts(at(24, 20), at(25, 20))).toEqual(["11-25", "06:00", "12:00", "18:00"])
  })

  it("say no day twice, where a month has little in it and where it is full", () => {
    expect(texts(at(23, 1), at(25, 13))).toEqual(["11-24", "11-25"])
    for (const days of [3, 4, 6, 7, 10, 30]) {
      const shown = texts(at(1, 7), at(1 + days, 7))
      expect(shown.length).toBeGreaterThan(1)
      expect(shown.length).toBeLessThanOrEqual(6)
      expect(new Set(shown).size, shown.join(" ")).toBe(shown.length)
    }
  })
})

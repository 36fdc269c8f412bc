/** Lines out of chunks, however the bytes are cut. */
import { expect, it } from "@effect/vitest"
import fc from "fast-check"
import { MessageLines } from "@muniment/cli/InputFile"

const bytesMax = 16

const linesOf = (chunks: ReadonlyArray<Uint8Array>) => {
  const reader = new MessageLines(bytesMax)
  const lines = [...chunks.flatMap((chunk) => reader.push(chunk)), ...reader.end()]
  return lines.map((line) => (line === undefined ? undefined : Buffer.from(line).toString("utf8")))
}

it("blank lines are none, and the last needs no newline", () => {
  expect(linesOf([Buffer.from("a\n\n \t\r\nb")])).toEqual(["a", "b"])
})

it("a line above the bound is lost as one, and the next is whole again", () => {
  const long = "x".repeat(bytesMax + 1)
  expect(linesOf([Buffer.from(`${long}\nb\n${long.slice(1)}\n${long}`)])).toEqual([
    undefined,
    "b",
    long.slice(1),
    undefined
  ])
})

it("cuts between chunks change nothing, not even within a character", () => {
  fc.assert(
    fc.property(
      fc.array(fc.stringMatching(/^[a-zé€]{0,6}$/), { maxLength: 8 }),
      fc.array(fc.nat(40), { maxLength: 8 }),
      (lines, cuts) => {
        const bytes = Buffer.from(lines.join("\n"))
        const places = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b), bytes.length]
        const chunks = places.slice(1).map((end, at) => bytes.subarray(places[at], end))
        expect(linesOf(chunks)).toEqual(
          lines.map((line) => (Buffer.byteLength(line) > bytesMax ? undefined : line)).filter((line) => line !== "")
        )
      }
    )
  )
})

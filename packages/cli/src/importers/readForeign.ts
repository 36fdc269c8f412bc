/** Reads another product's export as records, in the order of the file, and counts what it leaves out and why. */
import { Effect, Stream } from "effect"
import { Limits } from "@muniment/domain/Limits"
import { CommandFailed } from "../CommandFailed.ts"
import { type Columns, csvLines } from "./csvItems.ts"
import { readers, type ForeignFormat } from "./foreignFormats.ts"
import type { ImportOwner } from "./ForeignItems.ts"
import { JsonElements } from "./JsonElements.ts"

export interface ForeignReading {
  elements: number
  records: number
  /** By reason. */
  readonly skipped: Map<string, number>
}

/** Calls `add` with each record as a line of an export, and the number of its element. */
export const readForeign = Effect.fnUntraced(function* <TextError, E, R>(
  format: ForeignFormat,
  owner: ImportOwner,
  columns: Columns,
  text: Stream.Stream<string, TextError>,
  add: (line: string, element: number) => Effect.Effect<void, E, R>
) {
  const reading: ForeignReading = { elements: 0, records: 0, skipped: new Map() }
  const skip = (reason: string): void => void reading.skipped.set(reason, (reading.skipped.get(reason) ?? 0) + 1)
  const read = Effect.fnUntraced(function* (element: string | undefined, key: string) {
    reading.elements++
    const value = element === undefined ? "an element that is too long" : parsed(element)
    if (typeof value === "string") return skip(value)
    for (const item of readers[format](owner, value, key)) {
      if ("skipped" in item) {
        skip(item.skipped)
        continue
      }
      reading.records++
      yield* add(JSON.stringify(item.record), reading.elements)
    }
  })
  if (!isOneValue(format)) {
    const lines = text.pipe(
      Stream.splitLines,
      Stream.filter((line) => line.trim() !== "")
    )
    const elements = format === "csv" ? csvLines(text, columns) : lines
    yield* Stream.runForEach(elements, (line) =>
      read(line === undefined || line.length > Limits.importElementCharactersMax ? undefined : line, "")
    )
    return reading
  }
  const elements = new JsonElements()
  yield* Stream.runForEach(text, (chunk) =>
    Effect.forEach(elements.push(chunk), (element) => read(element.text, element.key), { discard: true })
  )
  if (!elements.isWhole)
    return yield* new CommandFailed({ reason: `the file ends within a value, after ${reading.elements} elements` })
  return reading
})

/** One JSON value that holds all elements; otherwise each has its line, or its row. */
const isOneValue = (format: ForeignFormat): boolean => !["messages", "markdown", "csv"].includes(format)

const parsed = (text: string): Readonly<Record<string, unknown>> | string => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : "no JSON object"
  } catch {
    return "not JSON"
  }
}

export const skippedText = (skipped: ReadonlyMap<string, number>): string =>
  [...skipped].map(([reason, count]) => `skipped ${count}: ${reason}`).join("\n")

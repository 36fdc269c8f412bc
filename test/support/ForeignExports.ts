/**
 * Samples of what other products export (`test/vectors/exports`), written by hand in the shapes that their programs write,
 * and what becomes of each.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"

export const day = (number: number): string => `2026-03-${String(number).padStart(2, "0")}T10:00:00.000Z`

export interface Sample {
  readonly from: string
  readonly files: Readonly<Record<string, unknown>>
  /** `agent/subject kind who: text @ when` */
  readonly kept: ReadonlyArray<string>
  readonly leftOut?: Readonly<Record<string, number>>
  readonly unkept?: Readonly<Record<string, number>>
  /** Of those that have some. */
  readonly metadata?: ReadonlyArray<object>
}

export const node = (id: string, parent: string | null, role: string, text: string, at: number, more: object = {}) => [
  id,
  {
    id,
    parent,
    children: [],
    message: {
      id,
      author: { role },
      content: { content_type: "text", parts: [text] },
      create_time: Date.parse(day(at)) / 1_000,
      recipient: "all",
      ...more
    }
  }
]

/** By what they are of. */
export const foreignSamples: Readonly<Record<string, Sample>> = JSON.parse(
  readFileSync(join(import.meta.dirname, "../vectors/exports/samples.json"), "utf8")
)

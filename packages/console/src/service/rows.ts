/** Rows of a text that holds memories: lines of JSON, an array of JSON, or a table of CSV (RFC 4180). */
import { parsed } from "./json.ts"

export interface Row {
  /** As people count them, from 1. */
  readonly number: number
  readonly fields: Readonly<Record<string, unknown>>
}

export interface Rows {
  readonly format: "CSV" | "JSON" | "JSON lines"
  readonly rows: ReadonlyArray<Row>
  /** Of all rows, in the order in which they come. */
  readonly columns: ReadonlyArray<string>
  /** Rows that are none, and why. */
  readonly faults: ReadonlyArray<{ readonly number: number; readonly fault: string }>
}

export const rowsIn = (text: string): Rows => {
  const whole = text.replace(/^\uFEFF/, "").trim()
  if (whole.startsWith("[")) {
    const list = parsed(whole)
    if (Array.isArray(list)) return of("JSON", list.map(flat))
  }
  if (whole.startsWith("{")) {
    const one = parsed(whole)
    const lines = whole.split("\n").filter((line) => line.trim() !== "")
    return of("JSON lines", one === undefined ? lines.map((line) => flat(parsed(line))) : [flat(one)])
  }
  return csv(whole)
}

const of = (format: Rows["format"], items: ReadonlyArray<Row["fields"] | string>): Rows => {
  const rows = items.flatMap((fields, at) => (typeof fields === "string" ? [] : [{ number: at + 1, fields }]))
  return {
    format,
    rows,
    columns: [...new Set(rows.flatMap(({ fields }) => Object.keys(fields)))],
    faults: items.flatMap((fault, at) => (typeof fault === "string" ? [{ number: at + 1, fault }] : []))
  }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** A memory as the service answers it (an export of this console) as it would be given. */
const flat = (item: unknown): Row["fields"] | string => {
  if (!isObject(item)) return "It is no JSON object."
  const { context, data, kind, metadata } = item
  if (!isObject(context) || !isObject(metadata) || !isObject(data)) return item
  const { agentId, expiresAt, subjectId, threadId } = metadata
  const fields = { kind, data, agentId, subjectId, threadId, expiresAt, tags: context["tags"] }
  return Object.fromEntries(
    Object.entries({ ...fields, metadata: context["metadata"] }).filter(([, value]) => value !== undefined)
  )
}

const csv = (text: string): Rows => {
  const [head = [], ...lines] = cellsIn(text)
  return of(
    "CSV",
    lines.map((cells) =>
      cells.length > head.length
        ? `It has ${cells.length} cells, the first line names ${head.length}.`
        : Object.fromEntries(head.map((name, at) => [name.trim(), cells[at] ?? ""]))
    )
  )
}

/** Quoted cells hold separators, line ends and doubled quotes. The separator is what the first line has most of. */
const cellsIn = (text: string): ReadonlyArray<ReadonlyArray<string>> => {
  const line = text.split("\n", 1)[0] ?? ""
  const parts = (sign: string): number => line.split(sign).length
  const separator = [",", ";", "\t"].reduce((best, sign) => (parts(sign) > parts(best) ? sign : best))
  const cell = new RegExp(`(?:"([^"]*(?:""[^"]*)*)"|([^${separator}\\r\\n]*))(${separator}|\\r?\\n|$)`, "gy")
  const lines: Array<Array<string>> = [[]]
  for (const [all, quoted, plain = "", end] of text.matchAll(cell)) {
    lines.at(-1)?.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'))
    if (all === "" || end === "") break
    if (end !== separator) lines.push([])
  }
  return lines.filter((cells) => cells.length > 1 || cells[0] !== "")
}

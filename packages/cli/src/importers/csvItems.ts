/**
 * Rows of a table as messages, where it has a column `role`, else as facts. Columns are known by the names that other
 * formats have for them; `--columns` names them where a table calls them otherwise.
 */
import { Effect, Stream } from "effect"
import { Limits } from "@muniment/domain/Limits"
import { CommandFailed } from "../CommandFailed.ts"
import { factItems, messageItems, type ForeignItem, type ImportOwner, unknownItem } from "./ForeignItems.ts"

/** Meanings of columns, with the names that have them without being told. */
const meanings = {
  id: ["id", "uuid"],
  role: ["role", "sender"],
  text: ["content", "text", "message", "fact", "memory"],
  time: ["timestamp", "created_at", "createdat", "sent_at", "date", "time"],
  thread: ["thread_id", "threadid", "conversation_id", "session_id", "thread"],
  name: ["name"],
  subject: ["subject", "user_id", "user"],
  tags: ["tags", "categories"]
} as const
type Meaning = keyof typeof meanings
/** Columns of the table that were told to mean something. */
export type Columns = ReadonlyMap<string, Meaning>

const isMeaning = (name: string): name is Meaning => Object.hasOwn(meanings, name)

/** `text=body,time=when` as `body` -> `text`. */
export const columnsOf = Effect.fnUntraced(function* (given: string) {
  const columns = new Map<string, Meaning>()
  for (const pair of given.split(",").filter((one) => one.trim() !== "")) {
    const [meaning = "", ...column] = pair.split("=")
    if (!isMeaning(meaning.trim()) || column.length === 0) {
      const known = Object.keys(meanings).join(", ")
      return yield* new CommandFailed({ reason: `--columns: "${pair}" is not one of ${known}, "=" and a column` })
    }
    columns.set(column.join("=").trim(), meaning.trim() as Meaning)
  }
  return columns
})

/** A line of JSON for each row but the first, which names the columns. */
export const csvLines = (text: Stream.Stream<string, CommandFailed>, columns: Columns) =>
  Stream.suspend(() => linesOf(text, columns))

const linesOf = (text: Stream.Stream<string, CommandFailed>, columns: Columns) => {
  const rows = new CsvRows()
  let header: ReadonlyArray<Meaning | undefined> | undefined
  const lines = (read: ReadonlyArray<CsvRow>): ReadonlyArray<string | undefined> =>
    read.flatMap((row) => {
      if (header === undefined) {
        header = (row ?? []).map((column) => columns.get(column.trim()) ?? meaningOf(column))
        return []
      }
      return [row && JSON.stringify(Object.fromEntries(fieldsOf(header, row)))]
    })
  const last = Stream.suspend(() => Stream.fromIterable([""])).pipe(
    Stream.mapEffect(() =>
      Effect.try({
        try: () => lines(rows.end()),
        catch: () => new CommandFailed({ reason: "the file ends within a quoted cell" })
      })
    )
  )
  return Stream.concat(
    Stream.map(text, (chunk) => lines(rows.push(chunk))),
    last
  ).pipe(Stream.flatMap(Stream.fromIterable))
}

const meaningOf = (column: string): Meaning | undefined =>
  (Object.keys(meanings) as ReadonlyArray<Meaning>).find((meaning) =>
    (meanings[meaning] as ReadonlyArray<string>).includes(column.trim().toLowerCase())
  )

/** The first column of a meaning counts. */
const fieldsOf = (header: ReadonlyArray<Meaning | undefined>, row: ReadonlyArray<string>) =>
  header.flatMap((meaning, at) =>
    meaning === undefined || header.indexOf(meaning) !== at || row[at] === undefined
      ? []
      : [[meaning, row[at]] as const]
  )

export const rowItems = (owner: ImportOwner, row: Readonly<Record<string, unknown>>): ReadonlyArray<ForeignItem> => {
  const { name, role, subject, text, thread, time: at } = row
  if (text === undefined) return [unknownItem("a table without a column of texts")]
  const id = given(row["id"]) ?? JSON.stringify([role, name, subject, at, thread, text])
  if (role !== undefined)
    return messageItems(owner, { id, role, text, at, threadId: given(thread) ?? "messages", name })
  const fact = { id, subject: given(subject) ?? "user", fact: text, at, threadId: thread }
  return factItems(owner, { ...fact, tags: String(row["tags"] ?? "").split(/[,;]/) })
}

const given = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined)

/** Undefined: a row that is too long. */
type CsvRow = ReadonlyArray<string> | undefined

/**
 * Rows of a CSV file (RFC 4180) from pieces of its text, as they come: quoted cells hold separators, line ends and
 * doubled quotes. The separator is the comma, the semicolon or the tab that the first line has most of.
 * Invariant: keeps no more than one row, which is at most `Limits.importElementCharactersMax` long.
 */
class CsvRows {
  #separator: string | undefined
  /** Text before the end of the first line, while the separator is not known. */
  #head = ""
  #row: Array<string> = []
  #cell = ""
  #length = 0
  #isQuoted = false
  /** A quote in a quoted cell: its end, or the first of two. */
  #isAtQuote = false

  /** Rows that end in `text`. */
  push(text: string): ReadonlyArray<CsvRow> {
    if (this.#separator !== undefined) return this.#read(text, this.#separator)
    this.#head += text
    const end = this.#head.search(/[\r\n]/)
    if (end === -1 && this.#head.length < Limits.importElementCharactersMax) return []
    return this.#begin(end === -1 ? this.#head : this.#head.slice(0, end))
  }

  /** The row that no line end closes. Fails where a quoted cell is open. */
  end(): ReadonlyArray<CsvRow> {
    const rows = this.#separator === undefined ? this.#begin(this.#head) : []
    if (this.#isQuoted && !this.#isAtQuote) throw new RangeError("a quoted cell that does not end")
    return this.#length === 0 ? rows : [...rows, this.#take()]
  }

  #begin(line: string): ReadonlyArray<CsvRow> {
    const count = (separator: string): number => line.split(separator).length
    this.#separator = [",", ";", "\t"].reduce((best, one) => (count(one) > count(best) ? one : best))
    const head = this.#head.replace(/^\uFEFF/, "")
    this.#head = ""
    return this.#read(head, this.#separator)
  }

  #read(text: string, separator: string): ReadonlyArray<CsvRow> {
    const rows: Array<CsvRow> = []
    for (const character of text) {
      if (this.#isQuoted && !this.#isAtQuote) {
        if (character === '"') this.#isAtQuote = true
        else this.#add(character)
      } else if (character === '"' && (this.#isAtQuote || this.#cell === "")) {
        if (this.#isAtQuote) this.#add('"')
        this.#isQuoted = true
        this.#isAtQuote = false
        this.#length++
      } else {
        this.#isQuoted = this.#isAtQuote = false
        if (character === "\n" || character === "\r") {
          if (this.#length > 0) rows.push(this.#take())
        } else if (character === separator) {
          this.#row.push(this.#cell)
          this.#cell = ""
          this.#length++
        } else this.#add(character)
      }
    }
    return rows
  }

  #add(character: string): void {
    this.#length++
    if (this.#length <= Limits.importElementCharactersMax) this.#cell += character
  }

  #take(): CsvRow {
    const row = this.#length > Limits.importElementCharactersMax ? undefined : [...this.#row, this.#cell]
    this.#row = []
    this.#cell = ""
    this.#length = 0
    this.#isQuoted = this.#isAtQuote = false
    return row
  }
}

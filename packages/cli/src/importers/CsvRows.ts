/**
 * Rows of a CSV file (RFC 4180) from pieces of its text, as they come: quoted cells hold separators, line ends and
 * doubled quotes. The separator is the comma, the semicolon or the tab that the first line has most of.
 * Invariant: keeps no more than one row, which is at most `Limits.importElementCharactersMax` long.
 */
import { Limits } from "@muniment/domain/Limits"

/** Undefined: a row that is too long. */
export type CsvRow = ReadonlyArray<string> | undefined

export class CsvRows {
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

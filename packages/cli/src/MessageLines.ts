/**
 * Newline-delimited messages out of chunks of bytes. A line longer than the bound is not kept: it comes out
 * as `undefined`, so that the reader can report that one message was lost.
 */

const newline = 0x0a

export class MessageLines {
  readonly #bytesMax: number
  #parts: Array<Uint8Array> = []
  #length = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** The lines that end in this chunk, without blank ones. */
  push(chunk: Uint8Array): Array<Uint8Array | undefined> {
    const lines: Array<Uint8Array | undefined> = []
    let start = 0
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      this.#keep(chunk.subarray(start, end))
      lines.push(...this.end())
      start = end + 1
    }
    this.#keep(chunk.subarray(start))
    return lines
  }

  /** The text after the last newline; nothing if that is blank. */
  end(): Array<Uint8Array | undefined> {
    const isLost = this.#length > this.#bytesMax
    const line = Buffer.concat(this.#parts)
    this.#parts = []
    this.#length = 0
    if (isLost) return [undefined]
    return line.every(isBlank) ? [] : [line]
  }

  #keep(part: Uint8Array): void {
    this.#length += part.length
    if (this.#length > this.#bytesMax) this.#parts = []
    else if (part.length > 0) this.#parts.push(part)
  }
}

/** Space, tab, carriage return. */
const isBlank = (byte: number): boolean => byte === 0x20 || byte === 0x09 || byte === 0x0d

/**
 * The objects of a large JSON file one by one, out of chunks of its text: those of an array at its root, those of the
 * arrays that an object at its root holds, with the key of theirs, or, without an array, the objects themselves (JSONL).
 *
 * Invariant: keeps no more than one element, which is at most `Limits.importElementCharactersMax` long.
 */
import { Limits } from "@muniment/domain/Limits"

export interface JsonElement {
  /** Name of the array in the object at the root; empty otherwise. */
  readonly key: string
  /** Undefined: it is longer than the bound. */
  readonly text: string | undefined
}

export class JsonElements {
  #path: Array<"{" | "["> = []
  #isString = false
  #isEscaped = false
  #string = ""
  #key = ""
  /** Depth at which the element under way began; -1: none. */
  #depth = -1
  #parts: Array<string> = []
  #length = 0

  push(chunk: string): ReadonlyArray<JsonElement> {
    const found: Array<JsonElement> = []
    let from = 0
    for (let at = 0; at < chunk.length; at++) {
      const character = chunk[at]!
      if (this.#isString) {
        this.#inString(character)
        continue
      }
      if (character === '"') {
        this.#isString = true
        this.#string = ""
      } else if (character === ":" && this.#path.length === 1) this.#key = this.#string
      else if (character === "{" || character === "[") {
        if (this.#depth < 0 && character === "{" && this.#path.at(-1) === "[" && this.#path.length <= 2) {
          this.#depth = this.#path.length
          from = at
        }
        this.#path.push(character)
      } else if (character === "}" || character === "]") {
        this.#path.pop()
        if (this.#path.length !== this.#depth) continue
        this.#keep(chunk.slice(from, at + 1))
        const isLost = this.#length > Limits.importElementCharactersMax
        found.push({ key: this.#path.length === 2 ? this.#key : "", text: isLost ? undefined : this.#parts.join("") })
        this.#parts = []
        this.#length = 0
        this.#depth = -1
      }
    }
    if (this.#depth >= 0) this.#keep(chunk.slice(from))
    return found
  }

  /** Whether the text has ended where a JSON value may. */
  get isWhole(): boolean {
    return this.#path.length === 0 && !this.#isString
  }

  #inString(character: string): void {
    if (this.#isEscaped) this.#isEscaped = false
    else if (character === "\\") this.#isEscaped = true
    else if (character === '"') {
      this.#isString = false
      return
    }
    if (this.#path.length === 1) this.#string += character
  }

  #keep(part: string): void {
    this.#length += part.length
    if (this.#length > Limits.importElementCharactersMax) this.#parts = []
    else this.#parts.push(part)
  }
}

/**
 * The objects of a large JSON text one by one, out of chunks of it: those of an array at its root, those of the arrays
 * that an object at its root holds, with the key of theirs, and each object at the root itself, without what was taken
 * from its arrays. So an array, an object of arrays and lines of objects (JSONL) are read alike.
 *
 * Invariant: keeps no more than one element and the object around it, each at most
 * `Limits.importElementCharactersMax` long.
 */
import { Limits } from "@muniment/domain/Limits"

export interface JsonElement {
  /** Name of the array in the object at the root; empty otherwise. */
  readonly key: string
  /** Undefined: it is longer than the bound. */
  readonly text: string | undefined
  /** What is left of an object at the root whose arrays held elements. */
  readonly isRest: boolean
}

export class JsonElements {
  readonly #isSplit: (key: string) => boolean
  #path: Array<"{" | "["> = []
  #isString = false
  #isEscaped = false
  #string = ""
  #key = ""
  /** Depth at which the element under way began; -1: none. */
  #depth = -1
  readonly #element = new BoundedText()
  readonly #rest = new BoundedText()
  #hasElements = false
  /** The array around had an element: what stands between its elements is no part of the rest. */
  #isInElements = false

  /** `isSplit`: whether the array of this name, in an object at the root, holds elements; else it stays in the rest. */
  constructor(isSplit: (key: string) => boolean = () => true) {
    this.#isSplit = isSplit
  }

  push(chunk: string): ReadonlyArray<JsonElement> {
    const found: Array<JsonElement> = []
    let from = 0
    const keep = (to: number): void => {
      const part = chunk.slice(from, to)
      if (this.#depth >= 0) this.#element.add(part)
      else if (!this.#isInElements && this.#path[0] === "{") this.#rest.add(part)
      from = to
    }
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
        if (this.#depth < 0 && character === "{" && this.#isElement()) {
          keep(at)
          this.#isInElements = this.#hasElements = true
          this.#depth = this.#path.length
        } else if (this.#path.length === 0) from = at
        this.#path.push(character)
      } else if (character === "}" || character === "]") {
        if (this.#isInElements && this.#depth < 0) {
          this.#isInElements = false
          from = at
        }
        if (this.#path.length === 1) keep(at + 1)
        const opened = this.#path.pop()
        if (this.#path.length === this.#depth) {
          keep(at + 1)
          this.#depth = -1
          found.push({ key: this.#path.length === 2 ? this.#key : "", text: this.#element.take(), isRest: false })
        } else if (this.#path.length === 0) {
          const text = this.#rest.take()
          if (opened === "{") found.push({ key: "", text, isRest: this.#hasElements })
          this.#hasElements = false
        }
      }
    }
    keep(chunk.length)
    return found
  }

  /** Whether the text has ended where a JSON value may. */
  get isWhole(): boolean {
    return this.#path.length === 0 && !this.#isString
  }

  #isElement(): boolean {
    if (this.#path.at(-1) !== "[" || this.#path.length > 2) return false
    return this.#path.length === 1 || (this.#path[0] === "{" && this.#isSplit(this.#key))
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
}

class BoundedText {
  #parts: Array<string> = []
  #length = 0

  add(part: string): void {
    this.#length += part.length
    if (this.#length > Limits.importElementCharactersMax) this.#parts = []
    else this.#parts.push(part)
  }

  /** Undefined: it was longer than the bound. */
  take(): string | undefined {
    const text = this.#length > Limits.importElementCharactersMax ? undefined : this.#parts.join("")
    this.#parts = []
    this.#length = 0
    return text
  }
}

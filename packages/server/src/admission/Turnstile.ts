/**
 * Begins work after the event loop has looked at its sockets. Work that never waits for anything, such as a search with
 * a known vector, would otherwise run to its end as soon as its bytes are read, before the bytes of the next request
 * are: then requests queue in the kernel, where nobody can see them, let alone take turns or refuse.
 */

/** Runs a function once the loop has looked at its sockets: `setImmediate`. */
export type AfterPoll = (run: () => void) => void

/** Of beginning work, until the loop looks at its sockets again. */
const sliceMillis = 4

export class Turnstile {
  readonly #nowMillis: () => number
  readonly #afterPoll: AfterPoll
  #due: Array<() => void> = []
  #isScheduled = false

  constructor(nowMillis: () => number, afterPoll: AfterPoll = setImmediate) {
    this.#nowMillis = nowMillis
    this.#afterPoll = afterPoll
  }

  pass(begin: () => void): void {
    this.#due.push(begin)
    this.#schedule()
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.#afterPoll(() => this.#run())
  }

  #run(): void {
    this.#isScheduled = false
    const endMillis = this.#nowMillis() + sliceMillis
    let begun = 0
    while (begun < this.#due.length && (begun === 0 || this.#nowMillis() < endMillis)) this.#due[begun++]!()
    this.#due = this.#due.slice(begun)
    if (this.#due.length > 0) this.#schedule()
  }
}

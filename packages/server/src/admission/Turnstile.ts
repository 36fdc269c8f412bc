/**
 * Begins work after the event loop has looked at its sockets. Work that never waits for anything, such as a search with
 * a known vector, would otherwise run to its end as soon as its bytes are read, before the bytes of the next request
 * are: then requests queue in the kernel, where nobody can see them, let alone take turns or refuse.
 *
 * Node accepts one connection a turn of the loop (libuv since 1.45). With some milliseconds of work in each turn a crowd
 * of new connections waits in the kernel, up to the 16 s after which their senders repeat a lost packet. So turns
 * without work follow each other until one has brought no new connection. What calm accounts ask goes ahead of both: it
 * is little, and waited for the slices of a crowd, and for 32 turns in which the crowd's bytes were read.
 */

/** Runs a function once the loop has looked at its sockets: `setImmediate`. */
export type AfterPoll = (run: () => void) => void
export const afterPoll: AfterPoll = setImmediate

/** Of beginning work, until the loop looks at its sockets again. */
const sliceMillis = 4
/** Turns without work between two slices: a crowd that opens connections all the time takes half of the time at most. */
const emptyTurnsMax = 32

export class Turnstile {
  readonly #nowMillis: () => number
  readonly #afterPoll: AfterPoll
  #due: Array<() => void> = []
  #isScheduled = false
  /** Of the slice that runs. */
  #endMillis = 0
  #hasNewConnection = false
  #emptyTurns = 0

  constructor(nowMillis: () => number, afterwards: AfterPoll = afterPoll) {
    this.#nowMillis = nowMillis
    this.#afterPoll = afterwards
  }

  /** A connection was accepted. */
  connected(): void {
    this.#hasNewConnection = true
  }

  /** Calls `begin` in a later turn of the loop; what goes ahead, once the loop has looked at its sockets. */
  pass(begin: () => void, isAhead = false): void {
    if (isAhead) return this.#afterPoll(begin)
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
    if (this.#mayAcceptMore()) return this.#schedule()
    this.#endMillis = Number.POSITIVE_INFINITY
    for (const _ of this.#due) this.#afterPoll(() => this.#beginNext())
    this.#afterPoll(() => this.#due.length > 0 && this.#schedule())
  }

  /**
   * Each in a callback of its own: what it has put off, such as the reading of a body, runs right after it and counts as
   * time of the slice.
   */
  #beginNext(): void {
    const nowMillis = this.#nowMillis()
    if (this.#endMillis === Number.POSITIVE_INFINITY) this.#endMillis = nowMillis + sliceMillis
    if (nowMillis < this.#endMillis) this.#due.shift()?.()
  }

  #mayAcceptMore(): boolean {
    const mayAccept = this.#hasNewConnection && this.#emptyTurns < emptyTurnsMax
    this.#hasNewConnection = false
    this.#emptyTurns = mayAccept ? this.#emptyTurns + 1 : 0
    return mayAccept
  }
}

/**
 * Refused requests: counted for `/metrics`, and kept for the request log until it takes them, a bounded number of
 * lines.
 */
import type { IncomingHttpHeaders } from "node:http"
import { Limits } from "@muniment/domain/Limits"
import type { RefusalBound } from "./Refusal.ts"

/** Parts of a request that decide whether it is refused, beside its body. */
export interface RequestHead {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly headers: IncomingHttpHeaders
}

/** A line of the request log. */
export interface RefusedLine {
  readonly method: string
  /** The contract's pattern, never the path. */
  readonly route: string
  readonly status: number
  /** From its arrival. */
  readonly millis: number
  /** Undefined for callers whose credentials have not been right yet. */
  readonly account: string | undefined
}

export interface RefusedCount {
  /** Kind of work. */
  readonly work: string
  readonly bound: RefusalBound
  readonly status: number
  readonly route: string
  readonly count: number
}

export interface RefusedLines {
  readonly lines: ReadonlyArray<RefusedLine>
  /** Refused requests beyond `Limits.refusalLinesMax`. */
  readonly unlisted: number
}

export class Refusals {
  readonly #counts = new Map<string, RefusedCount>()
  #lines: Array<RefusedLine> = []
  #unlisted = 0

  get counts(): ReadonlyArray<RefusedCount> {
    return [...this.#counts.values()]
  }

  add(work: string, bound: RefusalBound, line: RefusedLine): void {
    const { route, status } = line
    const key = `${work} ${bound} ${status} ${route}`
    this.#counts.set(key, { work, bound, status, route, count: (this.#counts.get(key)?.count ?? 0) + 1 })
    if (this.#lines.length < Limits.refusalLinesMax) this.#lines.push(line)
    else this.#unlisted += 1
  }

  /** Refusals since the last call. */
  takeLines(): RefusedLines {
    const taken = { lines: this.#lines, unlisted: this.#unlisted }
    this.#lines = []
    this.#unlisted = 0
    return taken
  }
}

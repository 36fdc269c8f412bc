/**
 * A list of memories of any length, of which only the pages in view are read: each by its place, from the end of the list
 * that is nearer, as far as the service leaves rows out (`skip`); in the middle of a longer list by the cursor behind the
 * page before.
 *
 * Invariant: one page is asked for at a time, the one in view first, and none twice. A list that has become longer or
 * shorter meanwhile is read anew.
 */
import { useEffect, useMemo, useRef, useState } from "preact/hooks"
import type { ApiError } from "./api.ts"
import { now } from "./browser.ts"
import { asApiError } from "./load.ts"
import { listMemories, type Memory, type MemoryFilters, type MemoryPage } from "./memories.ts"

export const pageSize = 100

/** As many rows the service leaves out (contract: `Limits.listSkipMax`). */
const skipMax = 10_000

export interface MemoryPages {
  readonly total: number | undefined
  readonly error: ApiError | undefined
  readonly rowOf: (index: number) => Memory | undefined
  /** How many rows are read before this one, those of its page apart. */
  readonly rowsBefore: (index: number) => number
  readonly view: (first: number, last: number) => void
  /** After an error. */
  readonly askAgain: () => void
}

const emptyList = () => ({
  /** By their number, from the newest memory on. */
  pages: new Map<number, ReadonlyArray<Memory>>(),
  /** Behind the page before, of those that were read from the newest on. */
  cursors: new Map<number, string>(),
  total: undefined as number | undefined,
  error: undefined as ApiError | undefined,
  isAsking: false,
  readAnewAt: -Infinity,
  controller: new AbortController()
})
type List = ReturnType<typeof emptyList>

interface Ask {
  readonly page: number
  readonly query: {
    readonly order: "asc" | "desc"
    readonly limit: number
    readonly skip?: number
    readonly cursor?: string | undefined
  }
}

/** The page of those in view, then of those next to them, that is not there yet. */
const missingPage = ({ pages, total = 0 }: List, view: { first: number; last: number }): number | undefined => {
  const [first, last] = [pageOf(view.first), pageOf(Math.max(view.first, view.last - 1))]
  const wanted = Array.from({ length: last - first + 1 }, (_, at) => first + at).concat(last + 1, first - 1)
  return wanted.find((page) => page >= 0 && page * pageSize < total && !pages.has(page))
}

const pageOf = (index: number): number => Math.floor(index / pageSize)

const isInReach = (page: number, total: number): boolean =>
  page * pageSize <= skipMax || total - (page + 1) * pageSize <= skipMax

/** The last page before this one behind which the list can be read on. */
const frontier = ({ cursors }: List, page: number): number =>
  [...cursors.keys()].reduce((best, one) => (one <= page && one > best ? one : best), pageOf(skipMax))

const askFor = (list: List, wanted: number): Ask => {
  const { cursors, total = pageSize } = list
  const page = isInReach(wanted, total) ? wanted : frontier(list, wanted)
  const start = page * pageSize
  const limit = Math.max(1, Math.min(pageSize, total - start))
  const behind = total - start - limit
  if (start <= skipMax && start <= behind + pageSize) return { page, query: { order: "desc", skip: start, limit } }
  if (behind <= skipMax) return { page, query: { order: "asc", skip: behind, limit } }
  return start <= skipMax
    ? { page, query: { order: "desc", skip: start, limit } }
    : { page, query: { order: "desc", cursor: cursors.get(page), limit } }
}

const reReadMillis = 2_000

const take = (list: List, { page, query }: Ask, answer: MemoryPage): void => {
  const isChanged = list.total !== undefined && list.total !== answer.total
  if (isChanged && now() - list.readAnewAt > reReadMillis) {
    list.pages.clear()
    list.cursors.clear()
    list.total = answer.total
    list.readAnewAt = now()
    return
  }
  list.total ??= answer.total
  list.pages.set(page, query.order === "asc" ? answer.memories.toReversed() : answer.memories)
  if (query.order === "desc" && answer.nextCursor !== undefined) list.cursors.set(page + 1, answer.nextCursor)
}

/**
 * `filters` name the list, `round` how often it is read anew: it keeps its length meanwhile, so that who reads it keeps
 * the place.
 */
export const useMemoryPages = (filters: MemoryFilters, round: string): MemoryPages => {
  const name = JSON.stringify(filters)
  const key = `${name} ${round}`
  const list = useMemo(emptyList, [key])
  const [, redraw] = useState({})
  const before = useRef({ name: "", total: 0 })
  if (list.total !== undefined) before.current = { name, total: list.total }
  const view = useRef({ first: 0, last: 0 })
  const more = (): void => {
    const { signal } = list.controller
    if (list.isAsking || signal.aborted) return
    const wanted = list.total === undefined ? 0 : missingPage(list, view.current)
    if (wanted === undefined) return
    const ask = list.total === undefined ? first : askFor(list, wanted)
    list.isAsking = true
    listMemories(filters, ask.query, signal)
      .then(
        (answer) => {
          list.error = undefined
          take(list, ask, answer)
          list.isAsking = false
          more()
        },
        (cause: unknown) => {
          list.error = asApiError(cause)
          list.isAsking = false
        }
      )
      .finally(() => {
        if (!signal.aborted) redraw({})
      })
  }
  useEffect(() => {
    more()
    return () => list.controller.abort()
  }, [key])
  return {
    total: list.total ?? (before.current.name === name ? before.current.total : undefined),
    error: list.error,
    rowOf: (index) => list.pages.get(pageOf(index))?.[index % pageSize],
    rowsBefore: (index) => {
      const page = pageOf(index)
      return isInReach(page, list.total ?? 0) ? 0 : (page - frontier(list, page)) * pageSize
    },
    view: (from, to) => {
      view.current = { first: from, last: to }
      more()
    },
    askAgain: () => {
      list.error = undefined
      redraw({})
      more()
    }
  }
}

const first: Ask = { page: 0, query: { order: "desc", skip: 0, limit: pageSize } }

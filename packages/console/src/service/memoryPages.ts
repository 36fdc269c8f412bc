/**
 * A list of memories of any length, read page by page from both its ends: the service gives a cursor to the next page,
 * none to a page in the middle. Each page is read from the end that is nearer to the rows in view.
 *
 * Invariant: one page is asked for at a time, and no memory is held twice.
 */
import { useEffect, useMemo, useRef, useState } from "preact/hooks"
import type { ApiError } from "./api.ts"
import { asApiError } from "./load.ts"
import { type MemoryFilters, listMemories, type Memory } from "./memories.ts"

export const pageSize = 100

export interface MemoryPages {
  readonly total: number | undefined
  readonly error: ApiError | undefined
  readonly rowOf: (index: number) => Memory | undefined
  /** How many rows are read before this one, those of its page apart. */
  readonly rowsBefore: (index: number) => number
  readonly view: (first: number, last: number) => void
}

interface End {
  readonly order: "asc" | "desc"
  readonly rows: Array<Memory>
  cursor: string | undefined
}

const emptyList = () => ({
  newest: { order: "desc", rows: [], cursor: undefined } as End,
  oldest: { order: "asc", rows: [], cursor: undefined } as End,
  known: new Set<string>(),
  total: undefined as number | undefined,
  error: undefined as ApiError | undefined,
  isAsking: false,
  controller: new AbortController()
})
type List = ReturnType<typeof emptyList>

/** The end to read on from for the rows in view and a page on either side; none where all of them are there. */
const nextEnd = ({ newest, oldest, total }: List, view: { first: number; last: number }): End | undefined => {
  if (total === undefined) return newest
  const gapEnd = total - oldest.rows.length
  const from = Math.max(view.first - pageSize, newest.rows.length)
  const to = Math.min(view.last + pageSize, gapEnd)
  if (from >= to) return undefined
  return to - newest.rows.length <= gapEnd - from ? newest : oldest
}

/** The total stays that of the first page, so that rows keep their places, until the ends meet. */
const take = (list: List, end: End, page: Awaited<ReturnType<typeof listMemories>>): void => {
  const fresh = page.memories.filter(({ id }) => !list.known.has(id))
  for (const memory of fresh) {
    list.known.add(memory.id)
    end.rows.push(memory)
  }
  end.cursor = page.nextCursor
  const isWhole = page.nextCursor === undefined || fresh.length < page.memories.length
  list.total = isWhole ? list.newest.rows.length + list.oldest.rows.length : (list.total ?? page.total)
}

export const useMemoryPages = (filters: MemoryFilters, key: string): MemoryPages => {
  const list = useMemo(emptyList, [key])
  const [, redraw] = useState({})
  const view = useRef({ first: 0, last: 0 })
  const more = (): void => {
    const { signal } = list.controller
    const end = nextEnd(list, view.current)
    if (end === undefined || list.isAsking || signal.aborted) return
    list.isAsking = true
    const query = { limit: pageSize, cursor: end.cursor, order: end.order }
    listMemories(filters, query, signal)
      .then(
        (page) => {
          list.error = undefined
          take(list, end, page)
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
    total: list.total,
    error: list.error,
    rowOf: (index) => list.newest.rows[index] ?? list.oldest.rows[(list.total ?? 0) - 1 - index],
    rowsBefore: (index) => {
      const left = Math.min(
        index - list.newest.rows.length,
        (list.total ?? Infinity) - 1 - index - list.oldest.rows.length
      )
      return Math.max(0, Math.floor(left / pageSize)) * pageSize
    },
    view: (first, last) => {
      view.current = { first, last }
      more()
    }
  }
}

/**
 * A table of some rows: in a narrow window each row is a card, whose lines begin with the titles of the columns. And a
 * name with its value in a list of facts.
 */
import { type ComponentChildren, Fragment } from "preact"
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks"
import { count } from "../service/words.ts"
import { type ApiError, type QueryValue, callPages } from "../service/api.ts"
import { asApiError } from "../service/load.ts"

/** A name and its value in a list of facts; nothing without a value. */
export const Fact = (given: { readonly name: string; readonly children: ComponentChildren; readonly class?: string }) =>
  given.children === undefined || given.children === "" ? null : (
    <>
      <dt>{given.name}</dt>
      <dd class={given.class}>{given.children}</dd>
    </>
  )

export interface Column<A> {
  readonly title: string
  readonly isNumber?: boolean
  /** Value by which the rows can be sorted. */
  readonly by?: (row: A) => number | string | null | undefined
  readonly cell: (row: A) => ComponentChildren
}

interface TableOf<A> {
  readonly label: string
  readonly columns: ReadonlyArray<Column<A>>
  readonly rows: ReadonlyArray<A>
  readonly keyOf: (row: A) => string
  /** In a narrow window a row is some lines without titles: for values that tell what they are. */
  readonly isDense?: boolean
}

interface Order {
  readonly title: string
  readonly isDescending: boolean
}

export const Table = <A,>(given: TableOf<A>) => {
  const [order, setOrder] = useState<Order | undefined>(undefined)
  return <OrderedTable {...given} rows={ordered(given.rows, given.columns, order)} order={order} onOrder={setOrder} />
}

/** First the way that is looked for most: the greatest number, the first word. */
const nextOrder = (order: Order | undefined, title: string, isNumber: boolean): Order | undefined => {
  if (order?.title !== title) return { title, isDescending: isNumber }
  return order.isDescending === isNumber ? { title, isDescending: !isNumber } : undefined
}

/** Rows without a value stand last. */
const ordered = <A,>(
  rows: ReadonlyArray<A>,
  columns: ReadonlyArray<Column<A>>,
  order: Order | undefined
): ReadonlyArray<A> => {
  const by = columns.find(({ title }) => title === order?.title)?.by
  if (by === undefined || order === undefined) return rows
  const sign = order.isDescending ? -1 : 1
  return rows.toSorted((one, other) => {
    const [left, right] = [by(one), by(other)]
    if (left === null || left === undefined) return right === null || right === undefined ? 0 : 1
    if (right === null || right === undefined) return -1
    return (
      sign *
      (typeof left === "number" && typeof right === "number" ? left - right : String(left).localeCompare(String(right)))
    )
  })
}

const Title = <A,>(given: {
  readonly column: Column<A>
  readonly order: Order | undefined
  readonly onOrder: (order: Order | undefined) => void
}) => {
  const { isNumber = false, by, title } = given.column
  const order = given.order?.title === title ? given.order : undefined
  return (
    <th
      role="columnheader"
      scope="col"
      class={isNumber ? "number" : undefined}
      aria-sort={order === undefined ? undefined : order.isDescending ? "descending" : "ascending"}
    >
      {by === undefined ? (
        title
      ) : (
        <button type="button" class="plain sort" onClick={() => given.onOrder(nextOrder(given.order, title, isNumber))}>
          {title}
          <span aria-hidden="true">{order === undefined ? "" : order.isDescending ? " ↓" : " ↑"}</span>
        </button>
      )}
    </th>
  )
}

const OrderedTable = <A,>(
  given: TableOf<A> & { readonly order: Order | undefined; readonly onOrder: (order: Order | undefined) => void }
) => (
  <div
    class={given.isDense === true ? "table-wrap dense" : "table-wrap"}
    role="region"
    aria-label={given.label}
    tabIndex={0}
  >
    <table role="table">
      <thead role="rowgroup">
        <tr role="row">
          {given.columns.map((column) => (
            <Title key={column.title} column={column} order={given.order} onOrder={given.onOrder} />
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {given.rows.map((row) => (
          <tr key={given.keyOf(row)} role="row">
            {given.columns.map(({ cell, isNumber, title }) => (
              <td key={title} role="cell" data-title={title} class={isNumber === true ? "number" : undefined}>
                {cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)

const rowsAtFirst = 100

/** A table of any length that begins with some rows and shows more on demand. */
export const GrowingTable = <A,>(
  given: TableOf<A> & {
    /** Said instead of an empty table. */
    readonly empty: string
  }
) => {
  const [shown, show] = useState(rowsAtFirst)
  const [order, setOrder] = useState<Order | undefined>(undefined)
  const left = given.rows.length - shown
  if (given.rows.length === 0) return <p class="muted">{given.empty}</p>
  return (
    <>
      <OrderedTable
        {...given}
        rows={ordered(given.rows, given.columns, order).slice(0, shown)}
        order={order}
        onOrder={setOrder}
      />
      {left > 0 && (
        <button type="button" onClick={() => show(shown * 2)}>
          Show more ({count(left)} left)
        </button>
      )}
    </>
  )
}

/** A button that saves a table of the service as a file of CSV; `onError` gets why it could not. */
export const SaveCsv = (given: {
  readonly path: string
  readonly query: Readonly<Record<string, QueryValue>>
  readonly fileName: string
  readonly disabled?: boolean
  readonly onError: (error: ApiError) => void
}) => (
  <button
    type="button"
    disabled={given.disabled === true}
    onClick={() =>
      void saveCsv(given.path, given.query, given.fileName).catch((cause: unknown) => given.onError(asApiError(cause)))
    }
  >
    Save as CSV
  </button>
)

/** A table of the service as a file of CSV, however many pages it has. */
const saveCsv = async (path: string, query: Readonly<Record<string, QueryValue>>, fileName: string): Promise<void> => {
  const pages = await callPages(path, { ...query, format: "csv" })
  const url = URL.createObjectURL(
    new Blob(
      pages.map((page) => page.replace(/\r?\n?$/, "\r\n")),
      { type: "text/csv" }
    )
  )
  const link = document.createElement("a")
  link.href = url
  link.download = fileName
  link.click()
  URL.revokeObjectURL(url)
}

/** Rows chosen for what is done with many: by their boxes, or by the keyboard (Space, Shift with arrows, Control and A). */
export interface RowSelection<A> {
  readonly has: (row: A) => boolean
  readonly nameOf: (row: A) => string
  /** `isRange`: and all between it and the one before. */
  readonly onSelect: (index: number, isRange: boolean) => void
  readonly onSelectAll: () => void
}

const rowPixels = 44
/** Above the first and below the last row. */
const borderPixels = 2
/** Rows kept above and below the view, so that a fast scroll shows no gap. */
const spareRows = 20

/**
 * A list of any length of which only the rows in view exist. Rows have one height; a row that is not loaded yet says so.
 * One row is a stop of the Tab key, arrow keys move on from it; the list itself is, until that row is loaded.
 */
export const LongList = <A,>(given: {
  readonly label: string
  readonly total: number
  readonly rowOf: (index: number) => A | undefined
  /** For a row that is not loaded: how many are loaded before it. */
  readonly rowsBefore: (index: number) => number
  readonly keyOf: (row: A) => string
  readonly isCurrent: (row: A) => boolean
  readonly classOf?: (row: A) => string
  readonly onChoose: (row: A) => void
  /** Rows that came into view. */
  readonly onView: (first: number, last: number) => void
  /** Rows that are not loaded do not come by themselves. */
  readonly isFailed: boolean
  /** Undefined: no row can be chosen. */
  readonly selection: RowSelection<A> | undefined
  readonly children: (row: A) => ComponentChildren
}) => {
  const { selection } = given
  const box = useRef<HTMLDivElement>(null)
  const [view, setView] = useState({ top: 0, height: 600 })
  const [stop, setStop] = useState(0)
  useLayoutEffect(() => {
    const element = box.current
    if (element === null) return
    const read = () => setView({ top: element.scrollTop, height: element.clientHeight })
    read()
    const observer = new ResizeObserver(read)
    observer.observe(element)
    element.addEventListener("scroll", read, { passive: true })
    return () => {
      observer.disconnect()
      element.removeEventListener("scroll", read)
    }
  }, [])
  const first = Math.max(0, Math.floor(view.top / rowPixels) - spareRows)
  const last = Math.min(given.total, Math.ceil((view.top + view.height) / rowPixels) + spareRows)
  useEffect(() => given.onView(first, last), [first, last, given.total])
  const inView = Math.ceil(view.top / rowPixels)
  const isInView = stop >= inView && stop * rowPixels < view.top + view.height
  const tabStop = isInView ? stop : inView
  const onKey = (event: KeyboardEvent): void => {
    const buttons = [...(box.current?.querySelectorAll<HTMLButtonElement>("button.line") ?? [])]
    const at = buttons.indexOf(document.activeElement as HTMLButtonElement)
    if (at < 0) return
    const isAll = event.key === "a" && (event.ctrlKey || event.metaKey)
    const isMove = event.key === "ArrowDown" || event.key === "ArrowUp"
    if (!isMove && (selection === undefined || (!isAll && event.key !== " "))) return
    event.preventDefault()
    if (isAll) selection?.onSelectAll()
    else if (event.key === " ") selection?.onSelect(stop, event.shiftKey)
    else {
      const next = buttons[at + (event.key === "ArrowDown" ? 1 : -1)]
      next?.focus()
      if (next !== undefined && event.shiftKey) selection?.onSelect(Math.round(next.offsetTop / rowPixels), true)
    }
  }
  /** Some browsers press a button when Space is let go. */
  const onKeyUp = (event: KeyboardEvent): void => {
    const isRow = (event.target as Element).matches("button.line")
    if (selection !== undefined && event.key === " " && isRow) event.preventDefault()
  }
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <div
      class="rows"
      ref={box}
      role="group"
      aria-label={given.label}
      style={{ maxHeight: `${given.total * rowPixels + borderPixels}px` }}
      tabIndex={given.rowOf(tabStop) === undefined ? 0 : -1}
      onKeyDown={onKey}
      onKeyUp={onKeyUp}
    >
      <div style={{ height: `${given.total * rowPixels}px` }}>
        {Array.from({ length: Math.max(0, last - first) }, (_, offset) => {
          const index = first + offset
          const row = given.rowOf(index)
          const place = { top: `${index * rowPixels}px` }
          if (row === undefined) {
            const before = given.rowsBefore(index)
            return (
              <div key={`waiting ${index}`} class="line waiting" style={place}>
                {given.isFailed
                  ? "Not loaded"
                  : before === 0
                    ? "Loading …"
                    : `Not loaded yet: ${count(before)} rows are loaded before it`}
              </div>
            )
          }
          const isSelected = selection?.has(row) === true
          return (
            <Fragment key={`row ${index}`}>
              {selection !== undefined && (
                <label class="tick" style={place}>
                  <input
                    type="checkbox"
                    // By the keyboard the row itself is chosen.
                    tabIndex={-1}
                    checked={isSelected}
                    aria-label={`Choose ${selection.nameOf(row)}`}
                    onClick={(event) => selection.onSelect(index, event.shiftKey)}
                  />
                </label>
              )}
              <button
                type="button"
                class={`line ${isSelected ? "selected" : ""} ${given.classOf?.(row) ?? ""}`}
                style={place}
                aria-current={given.isCurrent(row)}
                aria-keyshortcuts={
                  selection === undefined ? undefined : "Space Shift+ArrowDown Shift+ArrowUp Control+A"
                }
                tabIndex={index === tabStop ? 0 : -1}
                onFocus={() => setStop(index)}
                onClick={() => given.onChoose(row)}
              >
                {given.children(row)}
              </button>
            </Fragment>
          )
        })}
      </div>
    </div>
  )
}

/**
 * A list of any length of which only the rows in view exist. Rows have one height; a row that is not loaded yet says so.
 * One row is a stop of the Tab key, arrow keys move on from it; the list itself is, until that row is loaded.
 */
import type { ComponentChildren } from "preact"
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks"
import { count } from "../service/words.ts"

const rowPixels = 44
/** Above the first and below the last row. */
const borderPixels = 2
/** Rows kept above and below the view, so that a fast scroll shows no gap. */
const spareRows = 20

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
  readonly children: (row: A) => ComponentChildren
}) => {
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
  const move = (event: KeyboardEvent): void => {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return
    const buttons = [...(box.current?.querySelectorAll<HTMLButtonElement>("button.line") ?? [])]
    const at = buttons.indexOf(document.activeElement as HTMLButtonElement)
    if (at < 0) return
    event.preventDefault()
    buttons[at + (event.key === "ArrowDown" ? 1 : -1)]?.focus()
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
      onKeyDown={move}
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
                {before === 0 ? "Loading …" : `Not loaded yet: ${count(before)} rows are loaded before it`}
              </div>
            )
          }
          return (
            <button
              key={given.keyOf(row)}
              type="button"
              class={`line ${given.classOf?.(row) ?? ""}`}
              style={place}
              aria-current={given.isCurrent(row)}
              tabIndex={index === tabStop ? 0 : -1}
              onFocus={() => setStop(index)}
              onClick={() => given.onChoose(row)}
            >
              {given.children(row)}
            </button>
          )
        })}
      </div>
    </div>
  )
}

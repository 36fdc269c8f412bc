/** A table of some rows: in a narrow window each row is a card, whose lines begin with the titles of the columns. */
import type { ComponentChildren } from "preact"
import { useState } from "preact/hooks"
import { count } from "../service/words.ts"

export interface Column<A> {
  readonly title: string
  readonly isNumber?: boolean
  readonly cell: (row: A) => ComponentChildren
}

export const Table = <A,>(given: {
  readonly label: string
  readonly columns: ReadonlyArray<Column<A>>
  readonly rows: ReadonlyArray<A>
  readonly keyOf: (row: A) => string
}) => (
  <div class="table-wrap" role="region" aria-label={given.label} tabIndex={0}>
    <table role="table">
      <thead role="rowgroup">
        <tr role="row">
          {given.columns.map(({ isNumber, title }) => (
            <th key={title} role="columnheader" scope="col" class={isNumber === true ? "number" : undefined}>
              {title}
            </th>
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
export const GrowingTable = <A,>(given: {
  readonly label: string
  readonly columns: ReadonlyArray<Column<A>>
  readonly rows: ReadonlyArray<A>
  readonly keyOf: (row: A) => string
  /** Said instead of an empty table. */
  readonly empty: string
}) => {
  const [shown, show] = useState(rowsAtFirst)
  const left = given.rows.length - shown
  if (given.rows.length === 0) return <p class="muted">{given.empty}</p>
  return (
    <>
      <Table label={given.label} columns={given.columns} rows={given.rows.slice(0, shown)} keyOf={given.keyOf} />
      {left > 0 && (
        <button type="button" onClick={() => show(shown * 2)}>
          Show more ({count(left)} left)
        </button>
      )}
    </>
  )
}

/** A table of some rows: in a narrow window each row is a card, whose lines begin with the titles of the columns. */
import type { ComponentChildren } from "preact"

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

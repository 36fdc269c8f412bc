/** A table of some rows; wide ones scroll sideways. */
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
    <table>
      <thead>
        <tr>
          {given.columns.map(({ isNumber, title }) => (
            <th key={title} scope="col" class={isNumber === true ? "number" : undefined}>
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {given.rows.map((row) => (
          <tr key={given.keyOf(row)}>
            {given.columns.map(({ cell, isNumber, title }) => (
              <td key={title} class={isNumber === true ? "number" : undefined}>
                {cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)

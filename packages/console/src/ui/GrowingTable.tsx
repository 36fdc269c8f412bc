/** A table of any length that begins with some rows and shows more on demand. */
import { useState } from "preact/hooks"
import { count } from "../service/words.ts"
import { type Column, Table } from "./Table.tsx"

const rowsAtFirst = 100

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

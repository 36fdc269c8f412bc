/** All transfers of the ledger in pages, so that other fibers run in between; what has not been written yet is written first. */
import { Effect } from "effect"
import { ControlDatabase } from "../database/ControlDatabase.ts"
import { Ledger } from "./Ledger.ts"

/** Ids after `after`, up to `last`. */
export interface TransferPage {
  readonly after: number
  readonly last: number
}

const pageRows = 5_000

/** `rowsOf` reads what is wanted of a page, and `use` gets each row. */
export const makeTransferPages = Effect.gen(function* () {
  const { read, sql } = yield* ControlDatabase
  const ledger = yield* Ledger
  return <Row, E>(rowsOf: (page: TransferPage) => Effect.Effect<ReadonlyArray<Row>, E>, use: (row: Row) => void) =>
    Effect.gen(function* () {
      yield* ledger.flush
      const [newest] = yield* read(sql<{ readonly last: number }>`SELECT coalesce(max(id), 0) AS last FROM transfer`)
      for (let after = 0; after < newest!.last; after += pageRows) {
        for (const row of yield* read(rowsOf({ after, last: after + pageRows }))) use(row)
        yield* Effect.yieldNow
      }
    })
})

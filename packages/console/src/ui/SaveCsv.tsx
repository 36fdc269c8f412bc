/** A button that saves a table of the service as a file of CSV; `onError` gets why it could not. */
import type { ApiError, QueryValue } from "../service/api.ts"
import { saveCsv } from "../service/csv.ts"
import { asApiError } from "../service/load.ts"

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

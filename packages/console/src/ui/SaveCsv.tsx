/** A button that saves a table of the service as a file of CSV; `onError` gets why it could not. */
import { type ApiError, type QueryValue, callPages } from "../service/api.ts"
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

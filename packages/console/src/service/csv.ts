/** A table of the service as a file of CSV, however many pages it has. */
import { callPages, type QueryValue } from "./api.ts"

export const saveCsv = async (
  path: string,
  query: Readonly<Record<string, QueryValue>>,
  fileName: string
): Promise<void> => {
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

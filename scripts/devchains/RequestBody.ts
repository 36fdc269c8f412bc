/** The body of a JSON-RPC request, as text. */
import type { IncomingMessage } from "node:http"

const bodyBytesMax = 1024 * 1024

/** Rejects a body of more than a mebibyte. */
export const readBody = async (request: IncomingMessage): Promise<string> => {
  const chunks: Array<Buffer> = []
  let bytes = 0
  for await (const chunk of request) {
    chunks.push(chunk as Buffer)
    bytes += (chunk as Buffer).length
    if (bytes > bodyBytesMax) throw new Error(`a body of more than ${bodyBytesMax} bytes`)
  }
  return Buffer.concat(chunks).toString("utf8")
}

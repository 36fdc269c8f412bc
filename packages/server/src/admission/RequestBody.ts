/**
 * Receives the body of a request before anything works on it, and keeps it for who reads it: who sends slowly holds room
 * for bytes (`Bytes.ts`), never a place among those in work.
 */
import type { IncomingMessage } from "node:http"

/** Bytes that the headers announce; undefined for a body in chunks, whose length its end tells. */
export const announcedBytes = ({ headers }: IncomingMessage): number | undefined =>
  headers["transfer-encoding"] === undefined ? Number(headers["content-length"] ?? 0) : undefined

/** Bodies by request; one above the bound goes back to the stream instead, whose reader refuses it. */
const received = new WeakMap<object, Buffer>()

/** Undefined: it is in the stream. */
export const receivedBody = (request: object): Buffer | undefined => received.get(request)

/** Calls `done` once with all of the body, or with what is above `bytesMax`; never if the client leaves. */
export const receiveBody = (request: IncomingMessage, bytesMax: number, done: (body: Buffer) => void): void => {
  const chunks: Array<Buffer> = []
  let bytes = 0
  const look = (): void => {
    for (let chunk = readOf(request); chunk !== null; chunk = readOf(request)) {
      chunks.push(chunk)
      bytes += chunk.length
    }
    if (!request.complete && bytes <= bytesMax) return
    request.off("readable", look)
    const body = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
    if (chunks.length > 1) chunks.forEach(releaseBytes)
    if (bytes <= bytesMax) received.set(request, body)
    // In the same turn as the last read, so that the stream does not end yet.
    else request.unshift(body)
    done(body)
  }
  // A body in the same packet as its headers is parsed in this turn.
  queueMicrotask(() => {
    if (!request.complete) request.on("readable", look)
    else look()
  })
}

/** Reads the rest of an unwanted body, so that the connection can be used again. */
export const discardBody = (request: IncomingMessage): void => {
  if (announcedBytes(request) !== 0) request.on("data", releaseBytes)
}

/**
 * Frees the memory of bytes that nobody reads again: the collector would leave more than 100 MB of them while many large
 * bodies arrive. Nothing is done to bytes that share their memory with others.
 */
export const releaseBytes = (bytes: Buffer): void => {
  const { buffer } = bytes
  if (buffer instanceof ArrayBuffer && buffer.byteLength === bytes.length) buffer.transfer(0)
}

/** Reads bytes: the request has no encoding. */
const readOf = (request: IncomingMessage): Buffer | null => {
  const chunk: unknown = request.read()
  return Buffer.isBuffer(chunk) ? chunk : null
}

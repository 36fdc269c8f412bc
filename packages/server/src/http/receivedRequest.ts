/**
 * A request whose body the gate has received (`admission/RequestBody.ts`) gives it from memory: a stream would take
 * turns of the event loop, and listeners, to say again what is known.
 */
import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import { receivedBody } from "../admission/RequestBody.ts"

type Request = HttpServerRequest.HttpServerRequest

export const receivedRequest = (request: Request): Request => {
  const body = receivedBody(request.source)
  return body === undefined ? request : withBody(request, body)
}

const decoder = new TextDecoder()

/** All else is the request's own. */
const withBody = (request: Request, body: Buffer): Request => {
  let text: string | undefined
  return Object.create(request, {
    arrayBuffer: { value: Effect.succeed(bytesOf(body)) },
    text: { value: Effect.sync(() => (text ??= decoder.decode(body))) },
    modify: { value: (changes: Parameters<Request["modify"]>[0]) => withBody(request.modify(changes), body) }
  }) as Request
}

const bytesOf = ({ buffer, byteLength, byteOffset }: Buffer): ArrayBuffer =>
  byteLength === buffer.byteLength && buffer instanceof ArrayBuffer
    ? buffer
    : Uint8Array.from(new Uint8Array(buffer, byteOffset, byteLength)).buffer

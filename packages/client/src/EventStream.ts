/**
 * Reading a stream of server-sent events (HTML standard, Server-sent events): lines to messages. It needs a body of
 * `fetch` and nothing else.
 */
export interface ServerSentMessage {
  /** Id of the last event of the stream; stays until another one comes. */
  readonly id: string | undefined
  /** Undefined: the message only moves the id. */
  readonly data: string | undefined
}

/** Messages as they come; a message that the end of the stream cuts is none. */
export async function* serverSentMessages(
  body: ReadableStream<Uint8Array>
): AsyncGenerator<ServerSentMessage, void, undefined> {
  let id: string | undefined
  let data: Array<string> = []
  let hasFields = false
  for await (const line of linesOf(body)) {
    if (line === "") {
      if (hasFields) yield { id, data: data.length === 0 ? undefined : data.join("\n") }
      data = []
      hasFields = false
      continue
    }
    const colon = line.indexOf(":")
    const name = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "")
    if (name === "id") id = value
    if (name === "data") data.push(value)
    hasFields ||= name === "id" || name === "data"
  }
}

async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ""
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      const lines = `${rest}${decoder.decode(value, { stream: true })}`.split(/\r\n|\n/)
      rest = lines.pop()!
      yield* lines
    }
  } finally {
    await reader.cancel()
  }
}

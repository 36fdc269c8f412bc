/**
 * Limits of calls, as the service states them, and what fits into them: for programs that hand on what others wrote, such
 * as the adapters. `test/unit/client/CallLimits.test.ts` compares them with the service's own and with the Python client's.
 */

export const callLimits = {
  /** Characters of a query. */
  queryLengthMax: 2_000,
  /** Characters of a message. */
  messageLengthMax: 32_000,
  messagesPerRequestMax: 200,
  memoriesPerRequestMax: 100,
  idsPerRequestMax: 100,
  /** Bytes of a body. */
  requestBytesMax: 1_048_576
} as const

/** Room in a body for what stands around the memories or messages. */
const aroundBytes = 16_384

/** The text as a query: cut to the length that is searched for; undefined where nothing is left to search for. */
export const queryOf = (text: string): string | undefined => {
  const query = firstCharacters(text, callLimits.queryLengthMax)
  return query.trim() === "" ? undefined : query
}

/** The text in parts of at most the length of a message. */
export const messageParts = (text: string): ReadonlyArray<string> => {
  const parts: Array<string> = []
  for (let rest = text; rest !== "";) {
    const part = firstCharacters(rest, callLimits.messageLengthMax)
    parts.push(part)
    rest = rest.slice(part.length)
  }
  return parts
}

/** Values in requests of at most `countMax` values and of the bytes that a body may have. */
export const requestsOf = <Value>(
  values: ReadonlyArray<Value>,
  countMax: number
): ReadonlyArray<readonly [Value, ...Value[]]> => {
  const requests: Array<[Value, ...Value[]]> = []
  let bytes = Infinity
  for (const value of values) {
    const more = new TextEncoder().encode(JSON.stringify(value)).byteLength + 1
    const last = requests.at(-1)
    if (last === undefined || last.length === countMax || bytes + more > callLimits.requestBytesMax - aroundBytes) {
      requests.push([value])
      bytes = more
    } else {
      last.push(value)
      bytes += more
    }
  }
  return requests
}

/** Characters as the service counts them: two UTF-16 units may be one. */
const firstCharacters = (text: string, count: number): string =>
  text.length <= count
    ? text
    : Array.from(text.slice(0, 2 * count))
        .slice(0, count)
        .join("")

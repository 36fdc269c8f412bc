/** A batch of MCP takes a token of the rate limits for each message (contract: Rate limits). */
import { expect, it } from "vitest"

import { limitedRates, useSharedServer } from "../support/SharedServer.ts"
import type { ServerCalls } from "../support/TestServer.ts"

const server = useSharedServer(limitedRates)

const messagesInBatch = 10
/** Far more than the 60 tokens of a minute and what comes back while they are sent. */
const batches = 40

const sendBatch = (calls: ServerCalls, key: string) =>
  calls.call("POST", "/mcp", {
    key,
    body: Array.from({ length: messagesInBatch }, (_, id) => ({ jsonrpc: "2.0", id, method: "ping" }))
  })

it("serves as many messages as there are tokens, and refuses the others by their ids", async () => {
  const key = await server.newAccount("batches")
  const first = await sendBatch(server, key)
  expect(first.body).toHaveLength(messagesInBatch)
  expect(Number(first.headers.get("x-ratelimit-remaining"))).toBeLessThanOrEqual(60 - messagesInBatch + 1)
  for (let batch = 1; batch < batches; batch++) {
    const { body, headers, status } = await sendBatch(server, key)
    if (status === 429) {
      expect(body.code).toBe("rate_limited")
      return
    }
    expect(body.map(({ id }: { readonly id: number }) => id)).toEqual([...Array(messagesInBatch).keys()])
    const refused = body.filter(({ error }: { readonly error?: object }) => error !== undefined)
    if (refused.length === 0) continue
    expect(refused[0].error).toMatchObject({ code: -32_000, message: expect.stringContaining("try again in") })
    expect(refused[0].error.data).toEqual({
      code: "rate_limited",
      details: [{ path: "minute", message: expect.stringMatching(/^60 requests a minute; try again in \d+ s$/) }]
    })
    expect(headers.get("retry-after")).toMatch(/^[1-9]\d*$/)
    return
  }
  expect.unreachable("no message was refused")
})

/** Answers in the shape of the contract where a request is cut off in the service (contract: Errors). */
import { Effect, Layer } from "effect"
import { HttpRouter } from "effect/http"
import { describe, expect, it } from "vitest"
import { envelope } from "@muniment/server/http/Envelope"
import { PendingRequests } from "@muniment/server/operator/requests/RequestHistory"
import { CallTally } from "@muniment/server/operator/series/ServiceSeries"

const path = "/v1/account"

const answerOf = async (handled: Effect.Effect<never>): Promise<Response> => {
  const options = { logsRequests: false, isTraced: false, records: new PendingRequests(), tally: new CallTally() }
  const routes = Layer.mergeAll(HttpRouter.add("GET", path, handled), envelope(options))
  const { dispose, handler } = HttpRouter.toWebHandler(routes, { disableLogger: true })
  try {
    return await handler(new Request(`http://127.0.0.1${path}`))
  } finally {
    await dispose()
  }
}

/** As of a service that closes, or a call of a node that has lost its part. */
const cuts: ReadonlyArray<readonly [string, Effect.Effect<never>]> = [
  ["something that it called", Effect.interrupt],
  [
    "its own fiber",
    Effect.withFiber((fiber) => {
      fiber.interruptUnsafe()
      return Effect.never
    })
  ]
]

describe("a request that is cut off in the service", () => {
  it.each(cuts)("by the end of %s is told to come again, and that its outcome is unknown", async (_, handled) => {
    const answer = await answerOf(handled)
    expect(answer.status).toBe(503)
    expect(await answer.text()).toContain('"code":"namespace_unavailable"')
    expect(answer.headers.get("retry-after")).toBe("1")
    expect(answer.headers.get("x-request-id")).toMatch(/\S/)
  })
})

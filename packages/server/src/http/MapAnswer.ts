/**
 * The answer with a map (contract: Answers and maps), of which 5,000 memories have a point each. Encoded at once they
 * held the event loop for up to 24 ms of processor time; their JSON is written in turns.
 */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import type { TopicMap } from "@muniment/domain/SearchResult"

const pointsPerTurn = 1_000

export const mapAnswer = Effect.fnUntraced(function* ({ points, ...others }: TopicMap) {
  const rest = JSON.stringify({ success: true, ...others })
  const portions: Array<string> = []
  for (let from = 0; from < points.length; from += pointsPerTurn) {
    yield* Effect.yieldNow
    portions.push(JSON.stringify(points.slice(from, from + pointsPerTurn)).slice(1, -1))
  }
  return HttpServerResponse.text(`${rest.slice(0, -1)},"points":[${portions.join(",")}]}`, {
    contentType: "application/json"
  })
})

/**
 * The least server of three requests: Effect's HttpApi with the schemas of the service, and for each the answer that
 * the service gave, without callers, charges, limits or storage. What the service takes beyond it is its own. In the
 * environment: PORT, and in ANSWERS the path of `ConstantAnswers` as JSON.
 */
import { readFileSync } from "node:fs"
import { createServer } from "node:http"
import { layer as serverLayer } from "@effect/platform-node/NodeHttpServer"
import { runMain } from "@effect/platform-node/NodeRuntime"
import { Effect, Layer, Schema } from "effect"
import { HttpRouter } from "effect/http"
import { HttpApi, HttpApiBuilder, HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { AccountApi } from "@muniment/domain/api/AccountApi"
import { CreatedMemories, CreateMemories } from "@muniment/domain/Memory"
import { SearchParameters } from "@muniment/domain/Search"
import { FoundMemories } from "@muniment/domain/SearchResult"
import type { ConstantAnswers } from "./ConstantAnswers.ts"

const success = Schema.Literal(true)
/** The contract names no schema of its own for this answer. */
const Account = AccountApi.endpoints.whoami.success.values().next().value as Schema.Codec<unknown>
const Found = Schema.Struct({ success, ...FoundMemories.fields })
const Created = Schema.Struct({ success, ...CreatedMemories.fields })

class ConstantApi extends HttpApi.make("constant").add(
  HttpApiGroup.make("requests").add(
    HttpApiEndpoint.get("account", "/v1/account", { success: Account }),
    HttpApiEndpoint.get("search", "/v1/memories/search", { query: SearchParameters, success: Found }),
    HttpApiEndpoint.post("write", "/v1/memories", { payload: CreateMemories, success: Created })
  )
) {}

const main = (port: number, answers: ConstantAnswers): void => {
  const account = Schema.decodeUnknownSync(Account)(answers.account)
  const search = Schema.decodeUnknownSync(Found)(answers.search)
  const write = Schema.decodeUnknownSync(Created)(answers.write)
  const handlers = HttpApiBuilder.group(ConstantApi, "requests", (made) =>
    made
      .handle("account", () => Effect.succeed(account))
      .handle("search", () => Effect.succeed(search))
      .handle("write", () => Effect.succeed(write))
  )
  HttpRouter.serve(HttpApiBuilder.layer(ConstantApi).pipe(Layer.provide(handlers)), {
    disableLogger: true,
    disableListenLog: true
  }).pipe(Layer.provide(serverLayer(createServer, { host: "127.0.0.1", port })), Layer.launch, runMain)
}

const { ANSWERS: path = "", PORT: port } = process.env
main(Number(port), JSON.parse(readFileSync(path, "utf8")) as ConstantAnswers)

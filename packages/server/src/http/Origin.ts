/**
 * Routes at the origin, without credentials or charge: health, metrics, the contract as a document
 * and as a page, and a text for agents that read before they call.
 */
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiScalar } from "effect/http-api"
import { PrometheusMetrics } from "effect/observability"
import { MunimentApi } from "@muniment/domain/api/MunimentApi"
import { openApiDocument } from "@muniment/domain/api/OpenApiDocument"
import { NamespaceHost } from "@muniment/engine/NamespaceHost"
import { Accounts } from "@muniment/ledger/Accounts"
import { Embedder } from "@muniment/models/Embedder"
import { isLoopback } from "./Authorization.ts"
import { llmsText } from "./llmsText.ts"
import { ProcessGauges } from "./Metrics.ts"

const live = HttpRouter.add("GET", "/health/live", HttpServerResponse.jsonUnsafe({ status: "live" }))

/** Ready while control.db answers; a missing model or a damaged file degrades and is named. */
const ready = HttpRouter.add(
  "GET",
  "/health/ready",
  Effect.gen(function* () {
    const accounts = yield* Accounts
    const embedder = yield* Embedder
    const host = yield* NamespaceHost
    const control = yield* Effect.exit(accounts.list)
    const { state, reason, defaultModel } = yield* embedder.status
    const { quarantined } = yield* host.status
    const isReady = control._tag === "Success"
    return HttpServerResponse.jsonUnsafe(
      {
        status: !isReady ? "unavailable" : state === "ready" && quarantined.length === 0 ? "ready" : "degraded",
        checks: {
          control: isReady ? "ok" : "failed",
          embedding: {
            state,
            model: defaultModel ?? null,
            search: state === "ready" ? "by words and meaning" : "by words alone",
            reason: reason ?? null
          },
          quarantined: quarantined.length
        }
      },
      { status: isReady ? 200 : 503 }
    )
  })
)

const metrics = Layer.unwrap(
  Effect.gen(function* () {
    const gauges = yield* Effect.acquireRelease(
      Effect.sync(() => new ProcessGauges()),
      (opened) => Effect.sync(() => opened.close())
    )
    return HttpRouter.add(
      "GET",
      "/metrics",
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        if (!isLoopback(request)) {
          return HttpServerResponse.jsonUnsafe(
            { success: false, error: "metrics answer on this machine only", code: "operator_only" },
            { status: 403 }
          )
        }
        yield* gauges.refresh
        return HttpServerResponse.text(yield* PrometheusMetrics.format({ prefix: "muniment" }), {
          contentType: "text/plain; version=0.0.4"
        })
      })
    )
  })
)

const openApi = HttpRouter.add(
  "GET",
  "/openapi.json",
  Effect.sync(() => HttpServerResponse.jsonUnsafe(openApiDocument()))
)
const docs = HttpApiScalar.layer(MunimentApi, { path: "/docs" })
const llms = HttpRouter.add(
  "GET",
  "/llms.txt",
  HttpServerResponse.text(llmsText, { contentType: "text/plain; charset=utf-8" })
)

export const originRoutes = Layer.mergeAll(live, ready, metrics, openApi, docs, llms)

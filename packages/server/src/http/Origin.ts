/**
 * Routes at the origin, without credentials or charge: health, metrics, the contract as a document
 * and as a page, the handbook, and a text for agents that read before they call.
 */
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { PrometheusMetrics } from "effect/observability"
import { openApiText } from "@muniment/domain/api/OpenApiDocument"
import { Limits } from "@muniment/domain/Limits"
import type { SetAside } from "@muniment/engine/host/FileGuard"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { Accounts } from "@muniment/control/accounts/Accounts"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import { Embedder } from "@muniment/models/Embedder"
import { JobClock } from "../jobs/JobClock.ts"
import { PendingConversations } from "../jobs/PendingConversations.ts"
import { VectorBacklog } from "../jobs/VectorBacklog.ts"
import { docsRoutes, llmsText } from "../docs/DocsRoutes.ts"
import { handbookRoutes } from "../handbook/HandbookRoutes.ts"
import { isLocalCaller } from "../identity/ClientAddress.ts"
import { ProcessGauges } from "./Metrics.ts"

const live = HttpRouter.add("GET", "/health/live", HttpServerResponse.jsonUnsafe({ status: "live" }))

/**
 * Ready while control.db answers and few agents are set aside (`Limits.setAsidePercentMax`); a missing model or a damaged
 * file degrades and is named.
 */
const ready = HttpRouter.add(
  "GET",
  "/health/ready",
  Effect.gen(function* () {
    const accounts = yield* Accounts
    const embedder = yield* Embedder
    const host = yield* NamespaceHost
    const control = yield* Effect.exit(accounts.probe)
    const { state, reason, defaultModel } = yield* embedder.status
    const { quarantined } = yield* host.status
    const { pending } = yield* (yield* VectorBacklog).progress
    const conversations = yield* (yield* PendingConversations).total
    const clockStep = yield* (yield* JobClock).step
    const total = (yield* NamespaceDirectory).count()
    const isServing = quarantined.length * 100 <= total * Limits.setAsidePercentMax
    const isReady = control._tag === "Success" && isServing
    const isWhole = state === "ready" && quarantined.length === 0 && clockStep === undefined
    return HttpServerResponse.jsonUnsafe(
      {
        status: !isReady ? "unavailable" : isWhole ? "ready" : "degraded",
        checks: {
          control: control._tag === "Success" ? "ok" : "failed",
          embedding: {
            state,
            model: defaultModel ?? null,
            search: state === "ready" ? "by words and meaning" : "by words alone",
            reason: reason ?? null,
            pending
          },
          conversations: {
            pending: conversations.count,
            oldestSeconds: Math.round(conversations.ageMillis / 1_000)
          },
          quarantined: quarantined.length,
          agents: { total, setAside: quarantined.length, reason: setAsideReason(quarantined, isServing) },
          clock: clockStep === undefined ? "ok" : "stepped: the daily job waits for its operator"
        }
      },
      { status: isReady ? 200 : 503 }
    )
  })
)

/** Why agents are not served; null: all are. Files are named to operators only (`/admin/status`). */
const setAsideReason = (quarantined: ReadonlyArray<SetAside>, isServing: boolean): string | null => {
  if (quarantined.length === 0) return null
  const newer = quarantined.flatMap(({ newerVersion }) => (newerVersion === undefined ? [] : [newerVersion]))
  const others = quarantined.length - newer.length
  const parts = [
    ...(others === 0 ? [] : [`${others} damaged or in use by another process`]),
    ...(newer.length === 0 ? [] : [`${newer.length} of a later release (version ${[...new Set(newer)].join(", ")})`]),
    ...(isServing ? [] : [`more than ${Limits.setAsidePercentMax} % of all agents: not ready`])
  ]
  return parts.join("; ")
}

const metrics = (host: string) =>
  Layer.unwrap(
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
          if (!isLocalCaller(request, host)) {
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

/** `servers` names the public URL, else the address that this request was sent to. */
const openApi = (publicUrl: string | undefined) => {
  const textFor = openApiText()
  return HttpRouter.add(
    "GET",
    "/openapi.json",
    Effect.map(HttpServerRequest.HttpServerRequest, ({ headers }) =>
      HttpServerResponse.text(textFor(publicUrl ?? `http://${headers["host"] ?? "localhost"}`), {
        contentType: "application/json"
      })
    )
  )
}

const llms = HttpRouter.add(
  "GET",
  "/llms.txt",
  HttpServerResponse.text(llmsText, { contentType: "text/plain; charset=utf-8" })
)

export const originRoutes = ({
  hasConsole,
  host,
  publicUrl
}: {
  readonly publicUrl: string | undefined
  readonly host: string
  readonly hasConsole: boolean
}) =>
  Layer.mergeAll(
    live,
    ready,
    metrics(host),
    openApi(publicUrl),
    docsRoutes(hasConsole),
    llms,
    handbookRoutes(hasConsole)
  )

/**
 * Traces over OTLP (OpenTelemetry protocol, JSON over HTTP), where the operator names a collector (`MUNIMENT_OTLP_URL`).
 *
 * Invariant: a span tells what was done and how long it took, and nothing that a caller sent: of attributes only those in
 * the list below are kept, events are dropped, and a failure is told by its name.
 */
import { Cause, Effect, Exit, Layer, Option, References, Tracer } from "effect"
import { FetchHttpClient, HttpMiddleware } from "effect/http"
import { OtlpExporter, OtlpSerialization, OtlpTracer } from "effect/observability"
import { serviceVersion } from "../version.ts"

const keptAttributes: ReadonlySet<string> = new Set(["http.request.method", "http.route", "http.response.status_code"])

/** `url`: of the collector, without the path of traces. */
export const tracing = (url: Option.Option<string>, serviceName: string): Layer.Layer<never> =>
  Option.match(url, {
    // Spans that libraries make are not even begun: messages between nodes would each have two, with their numbers.
    onNone: () => Layer.succeed(References.TracerEnabled, false),
    onSome: (collector) =>
      Layer.effect(
        Tracer.Tracer,
        Effect.map(
          OtlpTracer.make({
            url: `${collector.replace(/\/+$/, "")}/v1/traces`,
            resource: { serviceName, serviceVersion }
          }),
          discreet
        )
      ).pipe(
        Layer.provide(OtlpExporter.layerFlusher),
        Layer.provide(OtlpSerialization.layerJson),
        Layer.provide(FetchHttpClient.layer),
        // The spans of the HTTP library hold URLs and headers; `Envelope.ts` has its own.
        Layer.merge(Layer.succeed(HttpMiddleware.TracerDisabledWhen, () => true))
      )
  })

const discreet = (tracer: Tracer.Tracer): Tracer.Tracer =>
  Tracer.make({
    span: (options) => {
      const span = tracer.span(options)
      const [attribute, end] = [span.attribute.bind(span), span.end.bind(span)]
      return Object.assign(span, {
        attribute: (key: string, value: unknown) => {
          if (keptAttributes.has(key)) attribute(key, value)
        },
        event: () => undefined,
        end: (endTime: bigint, exit: Exit.Exit<unknown, unknown>) => end(endTime, withoutMessage(exit))
      })
    }
  })

const withoutMessage = (exit: Exit.Exit<unknown, unknown>): Exit.Exit<unknown, unknown> => {
  if (Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause)) return Exit.isSuccess(exit) ? Exit.void : exit
  const told = new Error()
  told.name = nameOf(Cause.squash(exit.cause))
  told.stack = told.name
  return Exit.die(told)
}

const nameOf = (error: unknown): string => {
  if (typeof error !== "object" || error === null) return "Error"
  if ("_tag" in error && typeof error._tag === "string") return error._tag
  return error instanceof Error ? error.name : "Error"
}

/**
 * Documentation of one operation for the OpenAPI document: summary, price and example.
 * `x-price-credits` is the price in whole credits; `x-safe` says of a POST that it changes nothing.
 */
import { Context } from "effect"
import { HttpApi, type HttpApiEndpoint, OpenApi } from "effect/http-api"
import { microCreditsPerCredit, type MicroCredits } from "../Money.ts"

/** Price of an endpoint, for the middleware that charges. */
export const Price = Context.Reference<MicroCredits>("muniment/domain/Price", { defaultValue: () => 0 })

/** It changes nothing, whatever its method: not audited, and safe to repeat. */
export const IsRead = Context.Reference<boolean>("muniment/domain/IsRead", { defaultValue: () => false })

/** The name in books and logs of an endpoint that is another one's second way in. */
export const KnownAs = Context.Reference<string | undefined>("muniment/domain/KnownAs", {
  defaultValue: () => undefined
})

export const operation = (
  summary: string,
  options: {
    readonly description?: string
    readonly price?: MicroCredits
    /** A POST that only reads. */
    readonly isRead?: true
    readonly knownAs?: string
  }
) =>
  Context.mergeAll(
    OpenApi.annotations({
      summary,
      description: options.description,
      override: {
        "x-price-credits": (options.price ?? 0) / microCreditsPerCredit,
        ...(options.isRead && { "x-safe": true })
      }
    }),
    Context.make(Price, options.price ?? 0),
    Context.make(IsRead, options.isRead ?? false),
    Context.make(KnownAs, options.knownAs)
  )

/** As `search`. */
export const operationName = ({ annotations, identifier }: HttpApiEndpoint.Top): string =>
  Context.get(annotations, KnownAs) ?? identifier

/** Unknown names in the body are refused. */
export const hasClosedBody = ({ annotations }: HttpApiEndpoint.Top): boolean =>
  Context.getOrUndefined(annotations, HttpApi.PayloadParseOptions)?.onExcessProperty === "error"

export const isRead = ({ annotations, method }: HttpApiEndpoint.Top): boolean =>
  method === "GET" || Context.get(annotations, IsRead)

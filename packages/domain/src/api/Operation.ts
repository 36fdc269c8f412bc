/**
 * Documentation of one operation for the OpenAPI document: summary, price and example.
 * `x-price-credits` is the price in whole credits.
 */
import { Context } from "effect"
import { OpenApi } from "effect/http-api"
import { microCreditsPerCredit, type MicroCredits } from "../Money.ts"

/** Price of an endpoint, for the middleware that charges. */
export const Price = Context.Reference<MicroCredits>("muniment/domain/Price", { defaultValue: () => 0 })

export const operation = (
  summary: string,
  options: {
    readonly description?: string
    readonly price?: MicroCredits
  }
) =>
  Context.merge(
    OpenApi.annotations({
      summary,
      description: options.description,
      override: { "x-price-credits": (options.price ?? 0) / microCreditsPerCredit }
    }),
    Context.make(Price, options.price ?? 0)
  )

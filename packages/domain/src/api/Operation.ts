/**
 * Documentation of one operation for the OpenAPI document: summary, price and example.
 * `x-price-credits` is the price in whole credits (interface.md section 10.1).
 */
import { OpenApi } from "effect/http-api"
import { microCreditsPerCredit, type MicroCredits } from "../Money.ts"

export const operation = (
  summary: string,
  options: {
    readonly description?: string
    readonly price?: MicroCredits
  }
) =>
  OpenApi.annotations({
    summary,
    description: options.description,
    override: { "x-price-credits": (options.price ?? 0) / microCreditsPerCredit }
  })

/** Token counts: estimates, cost, and the bounds of what a server reports. */

export interface TokenCount {
  readonly inputTokens: number
  readonly outputTokens: number
}

export interface TokenPrices {
  readonly inputPriceMicroUsdPerMillion?: number | undefined
  readonly outputPriceMicroUsdPerMillion?: number | undefined
}

/** UTF-8 bytes: English has about 4 per token, Chinese 3 to 4, so the estimate is high. */
const bytesPerToken = 3
/** Roles, separators and names around the texts of a request. */
const framingTokens = 32
/** More than any model supports; a larger number reported by a server is cut to it. */
const tokensMax = 10_000_000
const million = 1_000_000

export const estimatedTokens = (texts: ReadonlyArray<string>): number =>
  framingTokens + texts.reduce((sum, text) => sum + Math.ceil(Buffer.byteLength(text) / bytesPerToken), 0)

/** The number of tokens reported by a server; `undefined` if it is not a number. */
export const claimedTokens = (claim: unknown): number | undefined =>
  typeof claim === "number" && claim >= 0 ? Math.min(Math.ceil(claim), tokensMax) : undefined

/** Rounded up, so that a small call is not free. */
export const costMicroUsd = ({ inputTokens, outputTokens }: TokenCount, prices: TokenPrices): number =>
  Math.ceil(
    (inputTokens * (prices.inputPriceMicroUsdPerMillion ?? 0) +
      outputTokens * (prices.outputPriceMicroUsdPerMillion ?? 0)) /
      million
  )

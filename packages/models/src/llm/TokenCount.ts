/** Tokens: how many a text has about, what they cost, and what a server may claim. */

export interface TokenCount {
  readonly inputTokens: number
  readonly outputTokens: number
}

export interface TokenPrices {
  readonly inputPriceMicroUsdPerMillion?: number | undefined
  readonly outputPriceMicroUsdPerMillion?: number | undefined
}

/** UTF-8: English has about 4 a token, Chinese 3 to 4, so this errs upwards. */
const bytesPerToken = 3
/** Roles, separators and names around the texts of a request. */
const framingTokens = 32
/** More than any model takes or gives; a larger claim of a server is cut to it. */
const tokensMax = 10_000_000
const million = 1_000_000

export const estimatedTokens = (texts: ReadonlyArray<string>): number =>
  framingTokens + texts.reduce((sum, text) => sum + Math.ceil(Buffer.byteLength(text) / bytesPerToken), 0)

/** The number of tokens that a server claims; `undefined` when it is not one. */
export const claimedTokens = (claim: unknown): number | undefined =>
  typeof claim === "number" && claim >= 0 ? Math.min(Math.ceil(claim), tokensMax) : undefined

/** Rounded up, so that no call is free of cost by being small. */
export const costMicroUsd = ({ inputTokens, outputTokens }: TokenCount, prices: TokenPrices): number =>
  Math.ceil(
    (inputTokens * (prices.inputPriceMicroUsdPerMillion ?? 0) +
      outputTokens * (prices.outputPriceMicroUsdPerMillion ?? 0)) /
      million
  )

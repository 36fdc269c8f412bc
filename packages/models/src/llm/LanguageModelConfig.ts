/** Configuration of the language model, and its defaults. */
import type { Redacted } from "effect"

export interface LanguageModelConfig {
  readonly provider: "openai-compatible" | "anthropic"
  /** With the version for OpenAI-compatible servers (`http://127.0.0.1:11434/v1`), without for Anthropic. */
  readonly baseUrl: string
  readonly model: string
  readonly apiKey: Redacted.Redacted | undefined
  /** Of one exchange with the server. */
  readonly timeoutMillis?: number | undefined
  /** Of a whole call: waiting, retries, repair. By default `defaults.deadlineMillis`, or more if one exchange may take more. */
  readonly deadlineMillis?: number | undefined
  /** Calls under way at once. */
  readonly concurrency?: number | undefined
  /** Calls that wait for their turn; one more is refused. */
  readonly waitingCallsMax?: number | undefined
  /** Per account and UTC day, input and output together. */
  readonly tokensPerDay?: number | undefined
  /** Of all accounts together, per UTC day. */
  readonly totalTokensPerDay?: number | undefined
  /** Per account and UTC day; counts only with prices. */
  readonly costPerDayMicroUsd?: number | undefined
  readonly inputPriceMicroUsdPerMillion?: number | undefined
  readonly outputPriceMicroUsdPerMillion?: number | undefined
  /** Failed calls in a row that open the circuit. */
  readonly circuitFailuresMax?: number | undefined
  /** How long an open circuit stays open before one call may probe. */
  readonly circuitCoolDownMillis?: number | undefined
}

/** Extraction has 8 s (contract: Conversations); half a second of that is for everything except the call. */
const defaults = {
  timeoutMillis: 7_000,
  deadlineMillis: 7_500,
  concurrency: 4,
  waitingCallsMax: 32,
  circuitFailuresMax: 5,
  circuitCoolDownMillis: 30_000
}

/** Added to a configured `timeoutMillis` to get the deadline of the call. */
const besidesExchangeMillis = 500

/** Bounds of calls, as configured or by default. */
export const callSettings = (config: LanguageModelConfig): typeof defaults => ({
  timeoutMillis: config.timeoutMillis ?? defaults.timeoutMillis,
  deadlineMillis:
    config.deadlineMillis ?? Math.max(defaults.deadlineMillis, (config.timeoutMillis ?? 0) + besidesExchangeMillis),
  concurrency: config.concurrency ?? defaults.concurrency,
  waitingCallsMax: config.waitingCallsMax ?? defaults.waitingCallsMax,
  circuitFailuresMax: config.circuitFailuresMax ?? defaults.circuitFailuresMax,
  circuitCoolDownMillis: config.circuitCoolDownMillis ?? defaults.circuitCoolDownMillis
})

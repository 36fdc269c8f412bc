/** Configuration of the language model, and its defaults. */
import type { Redacted } from "effect"
import type { ModelPurpose } from "./StructuredRequest.ts"

export interface LanguageModelConfig {
  readonly provider: "openai-compatible" | "anthropic"
  /** With the version for OpenAI-compatible servers (`http://127.0.0.1:11434/v1`), without for Anthropic. */
  readonly baseUrl: string
  readonly model: string
  readonly apiKey: Redacted.Redacted | undefined
  /** Of one exchange with the server; by default 120 s for a reading, 20 s for an answer, 10 s for an order of hits. */
  readonly timeoutMillis?: number | undefined
  /** Of a whole call: waiting, retries, repair. By default a little more than one exchange may take. */
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
  /** Of consolidations of all accounts, within the bounds above. */
  readonly consolidationTokensPerDay?: number | undefined
  readonly inputPriceMicroUsdPerMillion?: number | undefined
  readonly outputPriceMicroUsdPerMillion?: number | undefined
  /** Failed calls in a row that open the circuit. */
  readonly circuitFailuresMax?: number | undefined
  /** How long an open circuit stays open before one call may probe. */
  readonly circuitCoolDownMillis?: number | undefined
}

/** What is read in the background may take its time on a local model; who asks for an answer waits. */
const timeoutsMillis: Readonly<Record<ModelPurpose, number>> = {
  extraction: 120_000,
  consolidation: 120_000,
  answer: 20_000,
  ranking: 10_000
}

const defaults = {
  concurrency: 4,
  waitingCallsMax: 32,
  circuitFailuresMax: 5,
  circuitCoolDownMillis: 30_000
}

/** Of one exchange with the server. */
export const timeoutOf = (
  { timeoutMillis }: Pick<LanguageModelConfig, "timeoutMillis">,
  purpose: ModelPurpose
): number => timeoutMillis ?? timeoutsMillis[purpose]

/** Added to the time of an exchange to get the deadline of the call. */
const besidesExchangeMillis = 500

export const deadlineOf = (config: LanguageModelConfig, purpose: ModelPurpose): number =>
  config.deadlineMillis ?? timeoutOf(config, purpose) + besidesExchangeMillis

/** Bounds of calls, as configured or by default. */
export const callSettings = (config: LanguageModelConfig): typeof defaults => ({
  concurrency: config.concurrency ?? defaults.concurrency,
  waitingCallsMax: config.waitingCallsMax ?? defaults.waitingCallsMax,
  circuitFailuresMax: config.circuitFailuresMax ?? defaults.circuitFailuresMax,
  circuitCoolDownMillis: config.circuitCoolDownMillis ?? defaults.circuitCoolDownMillis
})

/** Configuration of the language model, and its defaults. */
import type { Redacted, Schema } from "effect"

export interface LanguageModelConfig {
  readonly provider: "openai-compatible" | "anthropic"
  /** With the version for OpenAI-compatible servers (`http://127.0.0.1:11434/v1`), without for Anthropic. */
  readonly baseUrl: string
  readonly model: string
  readonly apiKey: Redacted.Redacted | undefined
  /** Time-out of one exchange; by default 120 s for a reading, 20 s for an answer, 10 s for an order of hits. */
  readonly timeoutMillis?: number | undefined
  /** Deadline of a whole call: waiting, retries, repair. By default a little more than one exchange may take. */
  readonly deadlineMillis?: number | undefined
  /** Calls under way at once. */
  readonly concurrency?: number | undefined
  /** Calls that wait for their turn; one more is refused. */
  readonly waitingCallsMax?: number | undefined
  /** Per account and UTC day, input and output together. */
  readonly tokensPerDay?: number | undefined
  /** Budget of all accounts together, per UTC day. */
  readonly totalTokensPerDay?: number | undefined
  /** Per account and UTC day; counts only with prices. */
  readonly costPerDayMicroUsd?: number | undefined
  /** Budget of consolidations of all accounts, within the bounds above. */
  readonly consolidationTokensPerDay?: number | undefined
  readonly inputPriceMicroUsdPerMillion?: number | undefined
  readonly outputPriceMicroUsdPerMillion?: number | undefined
  /** Failed calls in a row that open the circuit. */
  readonly circuitFailuresMax?: number | undefined
  /** How long an open circuit stays open before one call may probe. */
  readonly circuitCoolDownMillis?: number | undefined
}

/** Background readings may take their time on a local model; a caller who asks for an answer waits. */
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

/** Time-out of one exchange with the server. */
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

/** A request to the language model: instructions, data, and the schema that its answer must match. */
export interface StructuredRequest<A> {
  /** Id of the account whose budget pays. */
  readonly account: string
  readonly purpose: ModelPurpose
  /** Instructions of this service; never contains text of users. */
  readonly system: string
  /** Data, fenced by the caller. */
  readonly prompt: string
  /** Schema of the answer, an object at its root; its JSON Schema travels with the request. */
  readonly schema: Schema.Codec<A, unknown>
  /** Name of the answer on the wire: letters, digits, `_`. */
  readonly schemaName: string
  readonly outputTokensMax: number
}

/** A consolidation waits until nobody else wants the model, and has a budget of its own. */
export type ModelPurpose = "extraction" | "answer" | "ranking" | "consolidation"

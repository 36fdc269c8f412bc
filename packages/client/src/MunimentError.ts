/**
 * The one error of the client. `code` is the service's machine code (contract: Errors), or
 * `network_error`, `timeout`, `invalid_response` when no answer of the service came; then `status`
 * is 0, or that of the answer that could not be read. It is 0, too, for what is refused before
 * anything is sent: grants (`invalid_grants_header`, `too_many_grants`) and `not_canonical`.
 *
 * Status 202 (`payment_pending`) is an error too: the payment is on its way, the request was not served.
 */
import type { Payment, PaymentDemand } from "./Payment.ts"

export interface MunimentErrorDetail {
  /** Index of the memory in the request. */
  readonly index?: number
  /** JSON pointer into its data. */
  readonly path?: string
  readonly message: string
}

export class MunimentError extends Error {
  override readonly name = "MunimentError"
  readonly status: number
  readonly code: string
  readonly details: ReadonlyArray<MunimentErrorDetail>
  /** Wait that the service asked for with `Retry-After`. */
  readonly retryAfterMillis: number | undefined
  /** The demand of a 402: what to pay, and how. */
  readonly paymentRequired: PaymentDemand | undefined
  /** Payment of the request: a call that is made again with it pays nothing twice. */
  readonly payment: Payment | undefined

  constructor(fields: {
    readonly status: number
    readonly code: string
    readonly message: string
    readonly details?: ReadonlyArray<MunimentErrorDetail> | undefined
    readonly retryAfterMillis?: number | undefined
    readonly paymentRequired?: PaymentDemand | undefined
    readonly payment?: Payment | undefined
    readonly cause?: unknown
  }) {
    super(fields.message, { cause: fields.cause })
    this.status = fields.status
    this.code = fields.code
    this.details = fields.details ?? []
    this.retryAfterMillis = fields.retryAfterMillis
    this.paymentRequired = fields.paymentRequired
    this.payment = fields.payment
  }
}

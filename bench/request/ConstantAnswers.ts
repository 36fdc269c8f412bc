/** One answer of the service to each kind of request, as JSON. */
export interface ConstantAnswers {
  readonly account: unknown
  readonly search: unknown
  readonly write: unknown
}

/** The service that a signed request or a grant was made for (contract: Wallet signatures, Grants). */
export interface Audience {
  /** Whether an origin, `scheme://host[:port]`, is this service's. */
  readonly isOwn: (origin: string) => boolean
  /** What callers are told to sign; undefined: the service was not told its name. */
  readonly name: string | undefined
  /** Whether what names no service is refused. */
  readonly isRequired: boolean
}

/**
 * Everything that the client takes from `domain`: types only, by endpoint. The published package has a written-out
 * copy of this file's types instead (`scripts/pack/ClientTypes.ts`), so that its declarations need no other package.
 */
import type { AccountApi, CreditsApi, KeysApi } from "@muniment/domain/api/AccountApi"
import type { AttestationsApi } from "@muniment/domain/api/AttestationsApi"
import type { ContextApi } from "@muniment/domain/api/ContextApi"
import type { EventsApi, HooksApi } from "@muniment/domain/api/HooksApi"
import type { MemoriesApi } from "@muniment/domain/api/MemoriesApi"
import type { SchemasApi } from "@muniment/domain/api/SchemasApi"
import type { PaymentRequired } from "@muniment/domain/Errors"

export type { Grant, GrantPayload } from "@muniment/domain/Grant"
export type { PaymentNetwork } from "@muniment/domain/Payment"

type Declared = (typeof MemoriesApi)["endpoints"] &
  (typeof ContextApi)["endpoints"] &
  (typeof SchemasApi)["endpoints"] &
  (typeof AttestationsApi)["endpoints"] &
  (typeof CreditsApi)["endpoints"] &
  (typeof AccountApi)["endpoints"] &
  (typeof KeysApi)["endpoints"] &
  (typeof HooksApi)["endpoints"] &
  (typeof EventsApi)["endpoints"]

/** Parts of each endpoint under /v1: its request, and its answer with status 200; `never` where it has no such part. */
export type Endpoints = {
  readonly [Name in keyof Declared]: {
    readonly params: Declared[Name]["~Params"]["Type"]
    readonly query: Declared[Name]["~Query"]["Type"]
    readonly headers: Declared[Name]["~Headers"]["Type"]
    readonly body: Declared[Name]["~Payload"]["Type"]
    readonly answer: Declared[Name]["~Success"]["Type"]
  }
}

/** Body of a 402 answer. */
export type PaymentRequiredBody = (typeof PaymentRequired)["Encoded"]

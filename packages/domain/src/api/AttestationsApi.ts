/**
 * Endpoints of attestations and grants. The public keys are published at the origin, without credentials, under a
 * configured file name.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Attestation, CreateAttestation } from "../Attestation.ts"
import { Forbidden, InsufficientStorage, InvalidRequest, Unavailable } from "../Errors.ts"
import { RevokeGrant } from "../Grant.ts"
import { Prices } from "../Plans.ts"
import { WriteHeaders, chargeErrors, chargedGroup, operation } from "./Middleware.ts"

const success = Schema.Literal(true)

export class AttestationsApi extends chargedGroup(
  HttpApiGroup.make("attestations").add(
    HttpApiEndpoint.post("attest", "/attestations", {
      headers: WriteHeaders,
      payload: CreateAttestation,
      success: Schema.Struct({
        success,
        attestation: Attestation,
        signature: Schema.String,
        publicKey: Schema.String,
        algorithm: Schema.Literal("Ed25519")
      }),
      error: [InvalidRequest, ...chargeErrors]
    }).annotateMerge(
      operation("Attest a claim about the caller's memories", {
        description:
          "Signed with Ed25519 over canonical JSON; verifiable offline. A claim that does not hold is attested as unsatisfied.",
        price: Prices.attest
      })
    ),
    HttpApiEndpoint.post("revokeGrant", "/grants/revoke", {
      headers: WriteHeaders,
      payload: RevokeGrant,
      success: Schema.Struct({ success, revoked: Schema.Literal(true) }),
      error: [InvalidRequest, Forbidden, InsufficientStorage, Unavailable]
    }).annotateMerge(
      operation("Revoke a grant", { description: "By its grantor: the payload is refused from then on, everywhere." })
    )
  )
) {}

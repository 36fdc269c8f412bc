/**
 * Attestations and revocation of grants (contract: Attestations, Grants), and the key file at the origin, which
 * needs no credentials and may be cached.
 */
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { Caller, CurrentCall } from "@muniment/domain/api/Middleware"
import { KeyRing } from "@muniment/trust/KeyRing"
import { AttestationService } from "../attestations/AttestationService.ts"
import { SharedAccess } from "../search/SharedAccess.ts"
import { apiGroup } from "../apiGroup.ts"

export const attestationsHandlers = apiGroup(
  "attestations",
  Effect.fnUntraced(function* (handlers) {
    const attestations = yield* AttestationService
    const shared = yield* SharedAccess

    return handlers.handleAll({
      attest: Effect.fnUntraced(function* ({ payload }) {
        return { success: true as const, ...(yield* attestations.attest(yield* CurrentCall, payload)) }
      }),
      revokeGrant: Effect.fnUntraced(function* ({ payload }) {
        yield* shared.revoke(yield* Caller, payload.grant)
        return { success: true as const, revoked: true as const }
      })
    })
  })
)

const cacheSeconds = 3_600

/** `/.well-known/<name>-keys.json` for the service's name and every alias. */
export const keyFileRoutes = (names: ReadonlyArray<string>) =>
  Layer.mergeAll(
    Layer.empty,
    ...names.map((name) =>
      HttpRouter.add(
        "GET",
        `/.well-known/${name}-keys.json`,
        Effect.map(KeyRing, (keys) =>
          HttpServerResponse.jsonUnsafe(keys.publicKeys(), {
            headers: { "cache-control": `public, max-age=${cacheSeconds}`, "access-control-allow-origin": "*" }
          })
        )
      )
    )
  )

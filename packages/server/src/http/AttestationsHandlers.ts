/**
 * Attestations and revocation of grants (specification section 4.4, interface.md section 8), and the
 * key file at the origin, which needs no credentials and may be cached by anyone.
 */
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Caller } from "@muniment/domain/api/Middleware"
import { MunimentApi } from "@muniment/domain/api/MunimentApi"
import { KeyRing } from "@muniment/trust/KeyRing"
import { AttestationService } from "../attestations/AttestationService.ts"
import { SharedAccess } from "../sharing/SharedAccess.ts"

export const attestationsHandlers = HttpApiBuilder.group(
  MunimentApi,
  "attestations",
  Effect.fnUntraced(function* (handlers) {
    const attestations = yield* AttestationService
    const shared = yield* SharedAccess

    return handlers.handleAll({
      attest: Effect.fnUntraced(function* ({ payload }) {
        const { account } = yield* Caller
        return { success: true as const, ...(yield* attestations.attest(account.id, payload)) }
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

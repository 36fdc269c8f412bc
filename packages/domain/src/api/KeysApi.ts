/** Keys that an account manages itself (contract: Identity); all free. */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { DurationText } from "../Durations.ts"
import { Conflict, Forbidden, InsufficientStorage, InvalidRequest, NotFound, Unavailable } from "../Errors.ts"
import { keyScopeFields } from "../KeyScope.ts"
import { Limits } from "../Limits.ts"
import { KeyRecord, RevocationQuery, RevokedKey } from "./AdminApi.ts"
import {
  Authorization,
  BodyLimit,
  Idempotency,
  RateLimiting,
  Validation,
  WellFormedRequest,
  WriteHeaders
} from "./Middleware.ts"
import { operation } from "./Operation.ts"

const success = Schema.Literal(true)

export class KeysApi extends HttpApiGroup.make("keys")
  .add(
    HttpApiEndpoint.get("listKeys", "/keys", {
      success: Schema.Struct({ success, keys: Schema.Array(KeyRecord) })
    }).annotateMerge(
      operation("List the account's keys", {
        description:
          "Those that are not revoked, oldest first, without secrets. A restricted key sees those within its restriction."
      })
    ),
    HttpApiEndpoint.post("createKey", "/keys", {
      headers: WriteHeaders,
      payload: Schema.Struct({
        label: Schema.optionalKey(Schema.String.check(Schema.isMaxCodePoints(Limits.accountNameLengthMax))),
        ...keyScopeFields,
        expiresIn: Schema.optionalKey(DurationText)
      }).annotate({ examples: [{ label: "reader", readOnly: true, agents: ["assistant"], expiresIn: "30d" }] }),
      success: Schema.Struct({ success, key: KeyRecord, secret: Schema.String }),
      error: [InvalidRequest, Forbidden, Conflict, InsufficientStorage, Unavailable]
    })
      .annotateMerge(
        operation("Create a key", {
          description:
            "The secret is shown once. A restricted key makes keys within its own restriction, its end included; a key that only reads makes none."
        })
      )
      .annotate(HttpApi.PayloadParseOptions, { onExcessProperty: "error" }),
    HttpApiEndpoint.delete("revokeKey", "/keys/:id", {
      params: {
        id: Schema.String.annotate({ description: "Key identifier.", examples: ["key_01KAJ8Q0V7E5XK9D2M4N6P8R0T"] })
      },
      query: RevocationQuery,
      headers: WriteHeaders,
      success: RevokedKey,
      error: [InvalidRequest, Forbidden, NotFound, Conflict, InsufficientStorage, Unavailable]
    }).annotateMerge(
      operation("Revoke a key", {
        description:
          "At once and for good, with the keys that it made and those that they made, unless `keepMade`. A restricted key revokes those that it sees."
      })
    )
  )
  .middleware(Idempotency)
  .middleware(Validation)
  .middleware(WellFormedRequest)
  .middleware(RateLimiting)
  .middleware(Authorization)
  .middleware(BodyLimit)
  .prefix("/v1") {}

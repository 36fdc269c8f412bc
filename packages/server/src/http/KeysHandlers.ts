/** Keys that an account manages itself (contract: Identity). What is made and revoked stands in the audit log. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Caller } from "@muniment/domain/api/Middleware"
import { MunimentApi } from "@muniment/domain/api/MunimentApi"
import { NotFound } from "@muniment/domain/Errors"
import type { Identity } from "@muniment/domain/Identity"
import { ApiKeyStore } from "@muniment/control/accounts/ApiKeyStore"
import { AuditLog } from "@muniment/control/audit/AuditLog"
import { requireChange, requireNarrower, seesKey } from "../identity/KeyScopes.ts"
import { boundsOf } from "./AdminHandlers.ts"

export const keysHandlers = HttpApiBuilder.group(
  MunimentApi,
  "keys",
  Effect.fnUntraced(function* (handlers) {
    const keys = yield* ApiKeyStore
    const log = yield* AuditLog
    const success = true as const

    /** Those that the caller sees. */
    const seenBy = (caller: Identity) =>
      Effect.map(keys.list(caller.account.id), (all) =>
        all.filter((key) => key.revokedAt === undefined && seesKey(caller, key))
      )

    const record = (
      action: string,
      { account, keyId, walletAddress }: Identity,
      madeOrRevoked: string,
      alsoRevoked: ReadonlyArray<string> = []
    ) =>
      log
        .record({
          action: `keys.${action}`,
          subject: account.name,
          detail: {
            keyId: madeOrRevoked,
            by: keyId ?? walletAddress ?? "",
            ...(alsoRevoked.length > 0 && { alsoRevoked })
          }
        })
        .pipe(Effect.catch(() => Effect.logError("a change of keys is not in the audit log", { keyId: madeOrRevoked })))

    return handlers.handleAll({
      listKeys: () => Effect.map(Effect.flatMap(Caller, seenBy), (seen) => ({ success, keys: seen })),
      createKey: Effect.fnUntraced(function* ({ payload }) {
        const caller = yield* Caller
        const bounds = yield* boundsOf(payload)
        yield* requireNarrower(caller, bounds)
        yield* caller.newcomer?.open("free") ?? Effect.void
        const made = yield* keys.create(caller.account, payload.label ?? "", undefined, {
          ...bounds,
          madeBy: caller.keyId ?? caller.walletAddress
        })
        yield* record("createKey", caller, made.record.id)
        return { success, key: made.record, secret: made.secret }
      }),
      revokeKey: Effect.fnUntraced(function* ({ params, query }) {
        const caller = yield* Caller
        yield* requireChange(caller)
        const seen = (yield* seenBy(caller)).find(({ id }) => id === params.id)
        if (seen === undefined) return yield* new NotFound({ code: "key_not_found", error: "no such key" })
        const { alsoRevoked, record: key } = yield* keys.revoke(seen.id, query)
        yield* record("revokeKey", caller, key.id, alsoRevoked)
        return { success, key, alsoRevoked }
      })
    })
  })
)

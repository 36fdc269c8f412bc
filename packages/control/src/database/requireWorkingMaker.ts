/**
 * Checks that the maker of a key or a webhook still may make it: inside the transaction that makes it, so that nothing
 * is made behind a revocation or an unlinking that has removed what its maker had made.
 */
import { Clock, Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { Unauthenticated } from "@muniment/domain/Errors"

/** `madeBy`: id of a key or address of a wallet; undefined: the operator. */
export const requireWorkingMaker = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  account: string,
  madeBy: string | undefined
) {
  if (madeBy === undefined) return
  const now = yield* Clock.currentTimeMillis
  const [gone] = yield* sql`SELECT 1 FROM api_key WHERE id = ${madeBy}
      AND (revoked_at IS NOT NULL OR expires_at <= ${now})
    UNION ALL SELECT 1 FROM wallet WHERE address = ${madeBy} AND (unlinked_at IS NOT NULL OR account <> ${account})`
  if (gone === undefined) return
  return yield* new Unauthenticated({
    code: "invalid_api_key",
    error: "the key or wallet that asks was revoked, unlinked or expired meanwhile"
  })
})

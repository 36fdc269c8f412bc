/**
 * Charges that a crash left open: reservations without an outcome. At the start each namespace that the call may
 * have changed is asked for a commit with the reservation's token: the call is charged if there is one,
 * and its reservation voided if there is none. One whose namespace cannot be read stays open until the next start.
 */
import { Effect, Layer } from "effect"
import type { IdempotencyToken } from "@muniment/domain/api/Middleware"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { Ledger } from "@muniment/control/credits/Ledger"
import type { Durable } from "@muniment/control/credits/Reservation"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"

export const OpenCharges = {
  /** Built before the server listens. */
  layer: Layer.effectDiscard(
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const namespaces = { host: yield* NamespaceHost, directory: yield* NamespaceDirectory }
      const open = yield* ledger.openReservations
      for (const reservation of open) {
        const happened = yield* wasCommitted(namespaces, reservation.accountId, reservation.durable)
        if (happened === "unknown") continue
        yield* happened === "yes" ? ledger.settle(reservation) : ledger.void(reservation)
      }
      if (open.length > 0) yield* Effect.logInfo("charges left open by a crash were decided", { count: open.length })
    })
  )
}

/** Committed by a call that is charged before its work is done, which has the call's own token. */
export const leftToken = ({ fingerprint, key }: IdempotencyToken): IdempotencyToken => ({
  key: leftKey(key),
  fingerprint
})

const leftKey = (key: string): string => `left:${key}`

/** "unknown": a namespace cannot be read. */
export const wasCommitted = Effect.fnUntraced(function* (
  { directory, host }: { readonly directory: NamespaceDirectory["Service"]; readonly host: NamespaceHost["Service"] },
  accountId: string,
  durable: Pick<Durable, "namespaces" | "token"> | undefined
) {
  let isDoubtful = false
  for (const agentId of durable?.namespaces ?? []) {
    const key = directory.find(accountId, agentId)
    if (key === undefined || durable === undefined) continue
    for (const idempotencyKey of [durable.token, leftKey(durable.token)]) {
      const found = yield* Effect.exit(host.answer(key, { _tag: "IsCommitted", idempotencyKey }))
      if (found._tag === "Success" && found.value) return "yes"
      isDoubtful ||= found._tag === "Failure"
    }
  }
  return isDoubtful ? "unknown" : "no"
})

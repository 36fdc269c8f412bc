/**
 * Charges that a crash left open: a reservation without its outcome. At the start each namespace that
 * the call may have changed is asked whether a commit carries the reservation's token; the call is
 * charged if one does and given back if none does (reliability.md, cut 5).
 */
import { Effect, Layer } from "effect"
import { NamespaceHost } from "@muniment/engine/NamespaceHost"
import { Ledger, type Reservation } from "@muniment/ledger/Ledger"
import { NamespaceDirectory } from "@muniment/ledger/NamespaceDirectory"

export const OpenCharges = {
  /** Done before requests are taken. */
  layer: Layer.effectDiscard(
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const open = yield* ledger.openReservations
      for (const reservation of open) {
        const happened = yield* wasCommitted(reservation)
        if (happened === "unknown") continue
        yield* happened === "yes" ? ledger.settle(reservation) : ledger.void(reservation)
      }
      if (open.length > 0)
        yield* Effect.logInfo("charges left open by the last end were decided", { count: open.length })
    })
  )
}

/** A namespace that cannot be read leaves the question open for the next start. */
const wasCommitted = Effect.fnUntraced(function* ({ accountId, durable }: Reservation) {
  const host = yield* NamespaceHost
  const directory = yield* NamespaceDirectory
  let isDoubtful = false
  for (const agentId of durable?.namespaces ?? []) {
    const tag = directory.resolve(accountId, agentId)
    const key = tag === undefined ? undefined : directory.byTag(tag)
    if (key === undefined || durable === undefined) continue
    const found = yield* Effect.exit(host.readRecords(key, (reader) => reader.isCommitted(durable.token)))
    if (found._tag === "Success" && found.value) return "yes"
    isDoubtful ||= found._tag === "Failure"
  }
  return isDoubtful ? "unknown" : "no"
})

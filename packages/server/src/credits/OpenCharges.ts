/**
 * Charges that a crash, or an owner of `control.db` that lost it, left open: reservations without an outcome. Each
 * namespace that the call may have changed is asked for a commit with the reservation's token: the call is charged if
 * there is one, and its reservation voided if there is none. One whose namespace cannot be read is asked again later.
 *
 * Invariant: a call that an earlier owner has sent may come after the question: nothing is voided before it can not.
 */
import { Clock, Effect, Layer, Schedule } from "effect"
import type { IdempotencyToken } from "@muniment/domain/api/Middleware"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { Ledger, type Reservation } from "@muniment/control/credits/Ledger"
import { Rounds } from "@muniment/worker/Rounds"
import { EarlierOwners } from "@muniment/control/credits/LeftCharges"
import type { Durable } from "@muniment/control/credits/Reservation"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"

export const OpenCharges = {
  /** On one machine: decides what can be decided before the server listens. */
  layer: Layer.effectDiscard(
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const namespaces = { host: yield* NamespaceHost, directory: yield* NamespaceDirectory }
      const owners = yield* EarlierOwners
      const begunMillis = yield* Clock.currentTimeMillis

      const decide = Effect.fnUntraced(function* (reservation: Reservation) {
        const happened = yield* wasCommitted(namespaces, reservation.accountId, reservation.durable)
        const isLate = (yield* Clock.currentTimeMillis) >= begunMillis + (owners?.lateMillis ?? 0)
        if (happened === "yes" || (happened === "no" && isLate)) yield* ledger.decide(reservation, happened === "yes")
      })
      /** Whether any is left. */
      const round = Effect.gen(function* () {
        const open = yield* ledger.openReservations
        yield* Effect.forEach(open, decide, { concurrency: askedTogether, discard: true })
        const left = (yield* ledger.openReservations).length
        if (left < open.length)
          yield* Effect.logInfo("charges left open by a crash were decided", {
            count: open.length - left,
            left
          })
        return left > 0
      })
      const isShared = owners !== undefined
      if (isShared || (yield* round))
        yield* Rounds.add({
          name: "charges left open",
          schedule: Schedule.spaced(againMillis).pipe(Schedule.while(({ input }) => input !== false)),
          work: round,
          isFirstNow: isShared,
          isCut: true
        })
    })
  )
}

/** Reservations whose namespaces are asked at the same time. */
const askedTogether = 8
/** Between two rounds while some are open. */
const againMillis = 5_000

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

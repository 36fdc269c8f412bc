/**
 * Gauges of `/metrics`: state of the process, of namespaces and of payments. Requests are counted in `Envelope.ts`,
 * charges in `credits/ChargedCalls.ts`, refused requests in `admission/Refusals.ts`, the stages of
 * a search in the engine.
 */
import { statfsSync } from "node:fs"
import { Effect, Metric } from "effect"
import type { LogStatus } from "@muniment/engine/log/CommitLog"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import { Books } from "@muniment/control/credits/Books"
import { ControlDatabase } from "@muniment/control/database/ControlDatabase"
import { PaymentJournal } from "@muniment/control/payments/PaymentJournal"
import type { Ledger } from "@muniment/control/credits/Ledger"
import { Embedder } from "@muniment/models/Embedder"
import type { Payments } from "@muniment/payments/Payments"
import { JobClock } from "../jobs/JobClock.ts"
import { Scrubber } from "../jobs/Scrubber.ts"
import { PendingConversations } from "../jobs/PendingConversations.ts"
import { DataDirectory } from "../DataDirectory.ts"
import { StorageUse } from "../memories/StorageUse.ts"
import { HookDeliveries } from "../webhooks/HookDeliveries.ts"
import { WebhookDeliveries } from "../webhooks/WebhookDeliveries.ts"
import { paymentHealth } from "../credits/PaymentHealth.ts"
import { LastBackup } from "../operator/LastBackup.ts"
import { VectorBacklog } from "../jobs/VectorBacklog.ts"
import { Admission } from "../admission/Admission.ts"
import { countRequests } from "./Envelope.ts"
import { LoopDelay } from "./LoopDelay.ts"
import { refreshCharges } from "../credits/ChargedCalls.ts"

const residentBytes = Metric.gauge("process_resident_bytes", { description: "Resident memory of the process." })
const openNamespaces = Metric.gauge("namespaces_open", { description: "Namespaces whose file is open." })
const quarantinedFiles = Metric.gauge("namespaces_quarantined", { description: "Damaged namespace files set aside." })
const vectorsPending = Metric.gauge("vectors_pending", {
  description: "Memories without a vector of the configured model; they are found by words."
})
const conversationsPending = Metric.gauge("conversations_pending", {
  description: "Conversations whose messages are stored and wait for their reading."
})
const conversationsAge = Metric.gauge("conversations_pending_oldest_seconds", {
  description: "Age of the conversation that has been waiting longest; 0 if none is."
})
const paymentsInState = Metric.gauge("payments_in_state", { description: "Payments in the journal, by state." })
const oldestPayment = Metric.gauge("payments_oldest_open_seconds", {
  description: "Age of the oldest payment without an outcome; 0: none."
})
const networkReachable = Metric.gauge("payment_network_reachable", {
  description: "1 if the node answers, by network."
})
const networkOffered = Metric.gauge("payment_network_offered", {
  description: "1 if payments are asked for on the network."
})
const nodeReachable = Metric.gauge("payment_node_reachable", {
  description: "1 if the node answered last time, by network and host."
})
const nodeBehind = Metric.gauge("payment_node_blocks_behind", {
  description: "Blocks by which the node is behind the furthest one of its network."
})
const nodeFailures = Metric.gauge("payment_node_failures", {
  description: "Calls that the node did not answer since the start."
})
const feeBalance = Metric.gauge("payment_fee_balance", {
  description: "Of the operator's wallet, in the network's coin (ETH, SOL)."
})
const booksMinusPayee = Metric.gauge("payment_books_minus_payee_usd", {
  description: "USDC that the ledger has received, less what the configured payee holds. Withdrawals increase it."
})
const webhooksPending = Metric.gauge("webhooks_pending", {
  description: "Messages that wait for their delivery to the webhook."
})
const webhooksAge = Metric.gauge("webhooks_pending_oldest_seconds", {
  description: "Since the oldest of them is tried; 0: none."
})
const hooksPending = Metric.gauge("account_webhooks_pending", {
  description: "Messages that wait for their delivery to webhooks of accounts."
})
const hooksAge = Metric.gauge("account_webhooks_pending_oldest_seconds", {
  description: "Since the oldest of them is tried; 0: none."
})
const hooksFailed = Metric.gauge("account_webhooks_failed", {
  description: "Messages to webhooks of accounts that were given up."
})
const webhooksFailed = Metric.gauge("webhooks_failed", { description: "Messages that were given up." })
const clockStepped = Metric.gauge("jobs_clock_stepped", {
  description: "1 while jobs wait because the clock has stepped by more than a day."
})
const backupAge = Metric.gauge("backup_age_seconds", {
  description: "Since the start of the last complete backup; absent: none is known."
})
const logBytes = Metric.gauge("commit_log_bytes", { description: "Bytes of the records that the commit log keeps." })
const logOrdinal = Metric.gauge("commit_log_ordinal", { description: "Last record of the commit log." })
const logSyncs = Metric.gauge("commit_log_syncs", { description: "Syncs since the commit log was opened." })
const logDamage = Metric.gauge("commit_log_damage", {
  description: "Places of the commit log whose records were synced and cannot be read."
})
const controlBehind = Metric.gauge("control_changes_unlogged", {
  description: "Changes of control.db that the commit log has not synced."
})
const controlChecked = Metric.gauge("control_checked_seconds", {
  description: "Unix time of the last check of control.db that found nothing; absent: none since text was last erased."
})
const scrubFinished = Metric.gauge("scrub_finished_seconds", {
  description: "Unix time of the end of the last round that read every file; absent: none has ended."
})
const scrubFiles = Metric.gauge("scrub_files", {
  description: "Files that the round under way, or the last one, has read."
})
const scrubBytes = Metric.gauge("scrub_bytes", { description: "Bytes of these files." })
const scrubDamaged = Metric.gauge("scrub_damaged_files", {
  description: "Of these files, damaged ones, by whether they could be mended."
})
const agents = Metric.gauge("agents", { description: "Agents that have memories or conversations, of all accounts." })
const memoryBytes = Metric.gauge("memory_bytes", {
  description: "Bytes of all memories as quotas count them; an agent last changed before a kill counts once it is used."
})
const diskFree = Metric.gauge("disk_free_bytes", { description: "Free on the disk of the data directory." })
const diskBallast = Metric.gauge("disk_ballast_bytes", {
  description: "What the file ballast still keeps for deletes on a full disk."
})
const ledgerPending = Metric.gauge("ledger_changes_pending", {
  description: "Charges that wait for their write to control.db."
})
const textsQueued = Metric.gauge("embedding_texts_queued", {
  description: "Texts that wait for the embedding model, by lane: query, passage."
})
const loopDelay = Metric.gauge("event_loop_delay_p99_seconds", {
  description: "99th percentile since the last reading."
})
const loopDelayMax = Metric.gauge("event_loop_delay_max_seconds", { description: "Longest since the last reading." })

const refreshLog = ({ bytes, damage, lastOrdinal, syncs }: LogStatus): Effect.Effect<void> =>
  Effect.all(
    [
      Metric.update(logBytes, bytes),
      Metric.update(logOrdinal, lastOrdinal),
      Metric.update(logSyncs, syncs),
      Metric.update(logDamage, damage.length)
    ],
    { discard: true }
  )

/** Brings the gauges up to date; called before each reading of `/metrics`. */
export class ProcessGauges {
  readonly #delay = new LoopDelay()

  get refresh(): Effect.Effect<
    void,
    never,
    | Admission
    | Books
    | ControlDatabase
    | DataDirectory
    | Embedder
    | JobClock
    | LastBackup
    | NamespaceDirectory
    | NamespaceHost
    | PaymentJournal
    | Payments
    | Ledger
    | PendingConversations
    | Scrubber
    | StorageUse
    | VectorBacklog
    | WebhookDeliveries
    | HookDeliveries
  > {
    return Effect.gen({ self: this }, function* () {
      const { ballastBytes, log, open, quarantined } = yield* (yield* NamespaceHost).status
      yield* Metric.update(residentBytes, process.memoryUsage.rss())
      yield* Metric.update(openNamespaces, open)
      yield* Metric.update(quarantinedFiles, quarantined.length)
      if (log !== undefined) yield* refreshLog(log)
      yield* Metric.update(diskBallast, ballastBytes)
      yield* refreshRoom
      yield* refreshQueues
      yield* Metric.update(vectorsPending, (yield* (yield* VectorBacklog).progress).pending)
      const conversations = yield* (yield* PendingConversations).total
      yield* Metric.update(conversationsPending, conversations.count)
      yield* Metric.update(conversationsAge, conversations.ageMillis / 1e3)
      yield* refreshCharges
      yield* refreshAdmission(countRequests)
      for (const [state, count] of Object.entries(yield* (yield* PaymentJournal).countByState)) {
        yield* Metric.update(Metric.withAttributes(paymentsInState, { state }), count)
      }
      yield* refreshPayments
      yield* refreshWebhooks
      yield* Metric.update(clockStepped, Number((yield* (yield* JobClock).step) !== undefined))
      const backupAgeMillis = yield* (yield* LastBackup).ageMillis
      if (backupAgeMillis !== undefined) yield* Metric.update(backupAge, backupAgeMillis / 1e3)
      yield* refreshScrub
      yield* refreshControl
      const { maxSeconds, p99Seconds } = this.#delay.read()
      yield* Metric.update(loopDelay, p99Seconds)
      yield* Metric.update(loopDelayMax, maxSeconds)
    })
  }

  close(): void {
    this.#delay.close()
  }
}

/** Measures the room that memories take, and what is left. */
const refreshRoom = Effect.gen(function* () {
  const { bavail, bsize } = statfsSync((yield* DataDirectory).path)
  yield* Metric.update(diskFree, bavail * bsize)
  yield* Metric.update(agents, (yield* NamespaceDirectory).count())
  yield* Metric.update(memoryBytes, (yield* StorageUse).known())
})

const refreshQueues = Effect.gen(function* () {
  yield* Metric.update(ledgerPending, (yield* Books).queue.size)
  const { queuedPassages, queuedQueries } = yield* (yield* Embedder).status
  yield* Metric.update(Metric.withAttributes(textsQueued, { lane: "query" }), queuedQueries)
  yield* Metric.update(Metric.withAttributes(textsQueued, { lane: "passage" }), queuedPassages)
})

const refreshScrub = Effect.gen(function* () {
  const { bytes, damaged, files, finishedAt } = yield* (yield* Scrubber).note
  if (finishedAt !== null) yield* Metric.update(scrubFinished, finishedAt / 1e3)
  yield* Metric.update(scrubFiles, files)
  yield* Metric.update(scrubBytes, bytes)
  for (const mended of [true, false]) {
    const count = damaged.filter(({ isMended }) => isMended === mended).length
    yield* Metric.update(Metric.withAttributes(scrubDamaged, { mended: String(mended) }), count)
  }
})

const refreshControl = Effect.gen(function* () {
  const { comparison } = yield* ControlDatabase
  const { behind, checkedAt } = yield* comparison.status
  yield* Metric.update(controlBehind, behind)
  if (checkedAt !== null) yield* Metric.update(controlChecked, checkedAt / 1e3)
})

const refreshPayments = Effect.gen(function* () {
  const { networks, oldestOpenSeconds } = yield* paymentHealth
  yield* Metric.update(oldestPayment, oldestOpenSeconds)
  for (const { booksUsd, isOffered, isReachable, network, nodes, payeeUsd, ...status } of networks) {
    const set = (gauge: typeof oldestPayment, value: number) =>
      Metric.update(Metric.withAttributes(gauge, { network }), value)
    yield* set(networkReachable, Number(isReachable))
    yield* set(networkOffered, Number(isOffered))
    if (status.feeBalance !== null) yield* set(feeBalance, status.feeBalance)
    if (payeeUsd !== null) yield* set(booksMinusPayee, booksUsd - payeeUsd)
    for (const { blocksBehind, failures, isReachable: isUp, name } of nodes) {
      const by = { network, node: name }
      yield* Metric.update(Metric.withAttributes(nodeReachable, by), Number(isUp))
      yield* Metric.update(Metric.withAttributes(nodeBehind, by), blocksBehind)
      yield* Metric.update(Metric.withAttributes(nodeFailures, by), failures)
    }
  }
})

const refreshWebhooks = Effect.gen(function* () {
  const { failed, oldestSeconds, pending } = yield* (yield* WebhookDeliveries).health
  yield* Metric.update(webhooksPending, pending)
  yield* Metric.update(webhooksAge, oldestSeconds)
  yield* Metric.update(webhooksFailed, failed)
  const ofAccounts = yield* (yield* HookDeliveries).health
  yield* Metric.update(hooksPending, ofAccounts.pending)
  yield* Metric.update(hooksAge, ofAccounts.oldestSeconds)
  yield* Metric.update(hooksFailed, ofAccounts.failed)
})

const inWork = Metric.gauge("admission_in_work", { description: "Requests in work, by kind of work." })
const inWorkMax = Metric.gauge("admission_in_work_limit", {
  description: "Requests that may be in work at once, by kind; follows the measured time in work."
})
const waiting = Metric.gauge("admission_waiting", { description: "Requests that wait for their turn, by kind." })
const wait = Metric.gauge("admission_wait_seconds", {
  description: "Expected wait of an account that has nothing waiting, by kind."
})
const refused = Metric.counter("admission_refused_total", {
  description: "Requests answered 429 or 503 before any work, by kind and bound.",
  incremental: true
})
const bodyBytes = Metric.gauge("admission_body_bytes", { description: "Bytes of bodies received or being received." })
const answerBytes = Metric.gauge("admission_answer_bytes", {
  description: "Bytes of answers that their callers have not taken."
})
const answersCut = Metric.gauge("admission_answers_cut", {
  description: "Answers cut off since the start: they were not taken in time, or took too much room."
})

/** Counted at the last reading; the counter takes what has come since. */
const counted = new WeakMap<object, Map<string, number>>()

/**
 * Admission in `/metrics`.
 *
 * Brings them up to date. `countRequests` counts refused ones among all requests.
 */
const refreshAdmission = Effect.fnUntraced(function* (
  countRequests: (route: string, status: number, count: number) => Effect.Effect<void>
): Effect.fn.Return<void, never, Admission> {
  const gate = yield* Admission
  const { lanes, refused: refusals, ...state } = gate.state
  for (const [work, lane] of lanes) {
    yield* Metric.update(Metric.withAttributes(inWork, { work }), lane.inWork)
    yield* Metric.update(Metric.withAttributes(inWorkMax, { work }), lane.limit)
    yield* Metric.update(Metric.withAttributes(waiting, { work }), lane.waiting)
    yield* Metric.update(Metric.withAttributes(wait, { work }), lane.waitMillis / 1_000)
  }
  yield* Metric.update(bodyBytes, state.bodyBytes)
  yield* Metric.update(answerBytes, state.answerBytes)
  yield* Metric.update(answersCut, state.answersCut)
  const before = counted.get(gate) ?? new Map<string, number>()
  counted.set(gate, before)
  for (const { bound, count, route, status, work } of refusals) {
    const key = `${work} ${bound} ${status} ${route}`
    const since = count - (before.get(key) ?? 0)
    yield* Metric.update(Metric.withAttributes(refused, { work, bound }), since)
    yield* countRequests(route, status, since)
    before.set(key, count)
  }
})

/**
 * Operator routes (contract: Operator routes): accounts, keys, wallets, export and import, backups, consolidation, the
 * operator's webhook, the state of the service and its series over time.
 */
import type { Account, Plan } from "@muniment/domain/Account"
import { CurrentOperator } from "@muniment/domain/api/Middleware"
import { operatorRoles } from "@muniment/domain/api/OperatorRoles"
import type { KeyScope } from "@muniment/domain/Identity"
import { Clock, Effect } from "effect"
import { durationMillis } from "@muniment/domain/GivenTimes"
import { InsufficientStorage, InvalidRequest, NotFound, Conflict, Unavailable } from "@muniment/domain/Errors"
import type { SeriesWindow } from "@muniment/domain/Operations"
import { Limits } from "@muniment/domain/Limits"
import { controlFile } from "@muniment/backup/BackupFormat"
import { type CopyFailed, FileCopies } from "@muniment/backup/copies/FileCopies"
import { Accounts } from "@muniment/control/accounts/Accounts"
import { ApiKeyStore } from "@muniment/control/accounts/ApiKeyStore"
import { Wallets } from "@muniment/control/accounts/Wallets"
import type { ConsolidationEntry, LoggedConsolidation } from "@muniment/control/jobs/JobLog"
import { WebhookOutbox } from "@muniment/control/webhooks/WebhookOutbox"
import { Ledger } from "@muniment/control/credits/Ledger"
import { KeyRing, type KeyFileFault } from "@muniment/trust/KeyRing"
import { parseWalletAddress, type WalletAddress } from "@muniment/trust/WalletAddress"
import { ConversationExtraction } from "../extraction/ConversationExtraction.ts"
import { VectorBacklog } from "../jobs/VectorBacklog.ts"
import { exportedMemory } from "../memories/MemoryViews.ts"
import { AgentIndexes } from "../operator/AgentIndexes.ts"
import { OperatorService } from "../operator/OperatorService.ts"
import { ServiceSeries } from "../operator/series/ServiceSeries.ts"
import { agentsCursor, exportCursor } from "./Cursor.ts"
import { Consolidation } from "../consolidation/Consolidation.ts"
import { WebhookDeliveries } from "../webhooks/WebhookDeliveries.ts"
import { LastBackup } from "../operator/LastBackup.ts"
import { OwnBackups } from "../operator/OwnBackups.ts"
import { requireRole } from "../console/OperatorAccess.ts"
import { serviceVersion } from "../version.ts"
import { apiGroup } from "../apiGroup.ts"

export const adminHandlers = apiGroup(
  "admin",
  Effect.fnUntraced(function* (handlers) {
    const accounts = yield* Accounts
    const keys = yield* ApiKeyStore
    const wallets = yield* Wallets
    const attestationKeys = yield* KeyRing
    const operator = yield* OperatorService
    const backlog = yield* VectorBacklog
    const indexes = yield* AgentIndexes
    const series = yield* ServiceSeries
    const { reread } = yield* ConversationExtraction
    const success = true as const

    return handlers.handleAll({
      status: () => Effect.map(operator.status, succeeded),
      createAccount: ({ payload }) => changed(requirePlan(payload.plan), () => accounts.create(payload.name, payload)),
      listAccounts: () => Effect.map(accounts.list, (all) => ({ success, accounts: all })),
      setRemember: ({ payload }) =>
        changed(operator.account(payload.account), ({ id }) => accounts.setRemember(id, payload.remember ?? undefined)),
      setInstructions: ({ payload }) =>
        changed(operator.account(payload.account), ({ id }) =>
          accounts.setInstructions(id, payload.instructions ?? undefined)
        ),
      createKey: Effect.fnUntraced(function* ({ payload }) {
        const known = yield* accounts.byName(payload.account)
        if (known === undefined) yield* requirePlan(payload.plan)
        const account = known ?? (yield* accounts.create(payload.account, { plan: payload.plan }))
        const { record, secret } = yield* keys.create(account, payload.label ?? "", undefined, yield* boundsOf(payload))
        return { success, key: record, secret }
      }),
      listKeys: Effect.fnUntraced(function* ({ query }) {
        const account = query.account === undefined ? undefined : yield* operator.account(query.account)
        return { success, keys: yield* keys.list(account?.id) }
      }),
      revokeKey: ({ params, query }) =>
        Effect.map(keys.revoke(params.id, query), ({ alsoRevoked, record: key }) => ({ success, key, alsoRevoked })),
      linkWallet: ({ payload }) => linkWallet(wallets, operator, payload),
      rotateAttestationKey: () =>
        attestationKeys.rotate.pipe(
          Effect.catch(keyFileFailure),
          Effect.map((keys) => ({ success, ...keys }))
        ),
      listAttestationKeys: () => Effect.sync(() => ({ success, ...attestationKeys.publicKeys() })),
      revokeAttestationKey: Effect.fnUntraced(function* ({ payload }) {
        const keys = yield* attestationKeys.revoke(payload.publicKey).pipe(Effect.catch(keyFileFailure))
        return keys === undefined ? yield* notPublished() : { success, ...keys }
      }),
      exportMemories: Effect.fnUntraced(function* ({ query }) {
        const from = query.cursor === undefined ? undefined : yield* exportCursor.decode(query.cursor)
        const page = yield* operator.exportPage(query.account, from)
        return {
          success,
          account: page.account,
          schemas: page.schemas,
          records: page.memories.map(exportedMemory),
          ...(page.next !== undefined && { nextCursor: exportCursor.encode(page.next) }),
          total: page.total
        }
      }),
      importMemories: ({ payload: { account, onDuplicate, records, schemas = [] } }) =>
        Effect.map(operator.importRecords(account, schemas, records, onDuplicate === "return"), succeeded),
      listIndexes: ({ query }) => indexPage(operator, indexes, query),
      series: ({ query }) => seriesOf(series, query),
      reembedProgress: () => Effect.map(backlog.progress, succeeded),
      reembed: () => Effect.map(backlog.start, succeeded),
      reread: ({ payload }) =>
        Effect.flatMap(rereadQuery(accounts, operator, payload), reread).pipe(Effect.map(succeeded))
    })
  })
)

/** A plan that is not free is a matter of money, as a change of it is. */
const requirePlan = (plan: Plan = "free") =>
  Effect.flatMap(CurrentOperator, (operator) =>
    requireRole(operator, plan === "free" ? "viewer" : operatorRoles["money.setPlan"])
  )

/** An account after its change. */
const changed = <A, E, R, F, S>(found: Effect.Effect<A, E, R>, change: (found: A) => Effect.Effect<Account, F, S>) =>
  Effect.map(Effect.flatMap(found, change), (account) => succeeded({ account }))

const succeeded = <A extends object>(answer: A) => ({ success: true as const, ...answer })

const linkWallet = Effect.fnUntraced(function* (
  wallets: Wallets["Service"],
  operator: OperatorService["Service"],
  payload: { readonly account: string; readonly address: string }
) {
  const wallet = yield* walletAddress(payload.address)
  const account = yield* operator.account(payload.account)
  yield* wallets.link(wallet, account.id)
  return succeeded({ wallet: { ...wallet, account: account.name } })
})

interface RereadPayload {
  readonly account?: string
  readonly agentId?: string
  readonly dryRun?: boolean
  readonly since?: string
}

const rereadQuery = Effect.fnUntraced(function* (
  accounts: Accounts["Service"],
  operator: OperatorService["Service"],
  { account, agentId, dryRun: isDryRun = false, since }: RereadPayload
) {
  const whose = account === undefined ? yield* accounts.list : [yield* operator.account(account)]
  const sinceMillis = since === undefined ? undefined : Date.parse(since)
  return { accounts: whose, agentId, sinceMillis, isDryRun }
})

const seriesOf = (
  series: ServiceSeries["Service"],
  { points = Limits.seriesPointsDefault, window = "hour" }: { readonly points?: number; readonly window?: SeriesWindow }
) => Effect.map(series.read(window, points), succeeded)

const indexPage = Effect.fnUntraced(function* (
  operator: OperatorService["Service"],
  indexes: AgentIndexes["Service"],
  query: { readonly account?: string; readonly cursor?: string; readonly limit?: number }
) {
  const account = query.account === undefined ? undefined : (yield* operator.account(query.account)).id
  const after = query.cursor === undefined ? undefined : (yield* agentsCursor.decode(query.cursor)).after
  const { agents, last } = yield* indexes.page({ account, after, limit: query.limit ?? Limits.listPageMax })
  return {
    success: true as const,
    agents,
    ...(last !== undefined && { nextCursor: agentsCursor.encode({ after: last }) })
  }
})

/** A key without any restriction has no scope. */
export const boundsOf = Effect.fnUntraced(function* ({
  agents,
  expiresIn,
  readOnly,
  subjects
}: KeyScope & { readonly expiresIn?: string }) {
  const scope: KeyScope = {
    ...(readOnly === true && { readOnly }),
    ...(agents !== undefined && { agents }),
    ...(subjects !== undefined && { subjects })
  }
  const validMillis = expiresIn === undefined ? undefined : durationMillis(expiresIn)
  return {
    scope: Object.keys(scope).length === 0 ? undefined : scope,
    expiresAt: validMillis === undefined ? undefined : (yield* Clock.currentTimeMillis) + validMillis
  }
})

/** The address as it is kept. */
export const walletAddress = (text: string): Effect.Effect<WalletAddress, InvalidRequest> => {
  const wallet = parseWalletAddress(text)
  return wallet === undefined ? Effect.fail(notAnAddress()) : Effect.succeed(wallet)
}

const notPublished = () =>
  new NotFound({ code: "key_not_found", error: "no published key of attestations is this one" })

const notAnAddress = () =>
  new InvalidRequest({
    code: "invalid_request",
    error: "the address is neither EVM, 0x and 40 hex digits, nor Solana, 32 bytes in base58"
  })

const fullDiskCodes: ReadonlySet<unknown> = new Set(["ENOSPC", "EDQUOT"])

/** The earlier key still signs. Any fault but a full disk is a defect. */
const keyFileFailure = (fault: KeyFileFault): Effect.Effect<never, InsufficientStorage> =>
  fault.cause instanceof Error && "code" in fault.cause && fullDiskCodes.has(fault.cause.code)
    ? Effect.fail(new InsufficientStorage({ code: "insufficient_storage", error: "the disk is full" }))
    : Effect.die(fault)

const shownDefault = 100

/** Operator routes of the consolidation of memories (contract: Consolidation). */
export const consolidationAdminHandlers = apiGroup(
  "consolidations",
  Effect.fnUntraced(function* (handlers) {
    const accounts = yield* Accounts
    const consolidation = yield* Consolidation
    const operator = yield* OperatorService
    const success = true as const

    const idOf = (named: string | undefined) =>
      named === undefined ? Effect.undefined : Effect.map(operator.account(named), ({ id }) => id)
    const namesOf = Effect.map(accounts.list, (all) => new Map(all.map(({ id, name }) => [id, name])))
    const shown = (
      { account, action, agentId, at, id, into, memories, undoneAt }: ConsolidationEntry & Partial<LoggedConsolidation>,
      names: ReadonlyMap<string, string>
    ) => ({
      id,
      at,
      account: names.get(account) ?? account,
      agentId,
      action,
      memories,
      into,
      undoneAt: undoneAt ?? null
    })

    return handlers.handleAll({
      list: Effect.fnUntraced(function* ({ query: { account, limit = shownDefault } }) {
        const found = yield* consolidation.list({ account: yield* idOf(account), limit })
        const names = yield* namesOf
        return { success, consolidations: found.map((entry) => shown(entry, names)) }
      }),
      run: Effect.fnUntraced(function* ({ payload: { account, dryRun = false } }) {
        // It takes minutes: unlike other changes of an operator it ends with the service or its client.
        const report = yield* Effect.interruptible(consolidation.run({ account: yield* idOf(account), dryRun }))
        const names = yield* namesOf
        const named = <A extends { readonly account: string }>(one: A): A => ({
          ...one,
          account: names.get(one.account) ?? one.account
        })
        return {
          success,
          ...report,
          done: report.done.map((entry) => shown(entry, names)),
          proposed: report.proposed.map(named),
          problems: report.problems.map(named)
        }
      }),
      undo: Effect.fnUntraced(function* ({ params: { id } }) {
        const entry = yield* consolidation.undo(id)
        return { success, consolidation: shown(entry, yield* namesOf) }
      })
    })
  })
)

/** Operator routes of the webhook (contract: Webhooks). */
export const webhookAdminHandlers = apiGroup(
  "webhooks",
  Effect.fnUntraced(function* (handlers) {
    const outbox = yield* WebhookOutbox
    const deliveries = yield* WebhookDeliveries
    const success = true as const

    return handlers.handleAll({
      listWebhooks: ({ query: { limit = shownDefault, state } }) =>
        Effect.map(outbox.list({ state, limit }), (webhooks) => ({ success, webhooks })),
      resendWebhooks: ({ payload }) => Effect.map(outbox.resend(payload.webhook), (resent) => ({ success, resent })),
      testWebhook: () => Effect.map(deliveries.test, (trial) => ({ success, ...trial }))
    })
  })
)

/** Operator routes of backups (contract: Operator routes). */
export const backupAdminHandlers = apiGroup(
  "backups",
  Effect.fnUntraced(function* (handlers) {
    const copies = yield* FileCopies
    const ledger = yield* Ledger
    const last = yield* LastBackup
    const own = yield* OwnBackups
    const success = true as const
    const demandHere = Effect.mapError(copies.demandHere, madeElsewhere)

    return handlers.handleAll({
      listFiles: () =>
        copies.marks.pipe(
          Effect.map(({ files, ordinal = null }) => ({ success, release: serviceVersion, ordinal, files })),
          Effect.mapError(failureOf)
        ),
      copyFile: Effect.fnUntraced(function* ({ query: { file, id } }) {
        yield* demandHere
        if (!copies.isKnown(file)) {
          return yield* new InvalidRequest({
            code: "invalid_request",
            error: "file: a backup holds no such file; GET /admin/backups/files lists them"
          })
        }
        // Charges are written behind: those of calls answered before belong into the copy.
        if (file === controlFile) yield* ledger.flush
        return yield* copies.copy(id, file).pipe(
          Effect.map((state) => {
            if (state._tag === "Copying") return { success, state: "copying" as const }
            if (state._tag === "Absent") return { success, state: "absent" as const }
            return { success, state: "ready" as const, path: state.path, copied: state.copied }
          }),
          Effect.catch((failure) =>
            failure.reason === "corrupt"
              ? Effect.succeed({ success, state: "damaged" as const, reason: failure.message })
              : Effect.fail(failureOf(failure))
          )
        )
      }),
      noteBackup: ({ payload }) => Effect.as(Effect.andThen(demandHere, last.note(payload.id)), { success }),
      state: () => Effect.map(own.state, (state) => ({ success, ...state })),
      run: () => Effect.map(own.begin("backup"), (state) => ({ success, ...state })),
      verify: () => Effect.map(own.begin("verify"), (state) => ({ success, ...state }))
    })
  })
)

const failureOf = ({ message, reason }: CopyFailed): Conflict | InsufficientStorage | Unavailable => {
  if (reason === "elsewhere") return madeElsewhere({ message })
  return reason === "full"
    ? new InsufficientStorage({ code: "insufficient_storage", error: "the disk is full; a copy needs room beside it" })
    : new Unavailable({ code: "overloaded", error: `the file cannot be copied now: ${message}` })
}

const madeElsewhere = ({ message }: Pick<CopyFailed, "message">) =>
  new Conflict({ code: "cluster_backup", error: message })

/**
 * Operator routes (contract: Operator routes): accounts, keys, wallets, export and import, the state of the service and
 * its series over time.
 */
import type { Account } from "@muniment/domain/Account"
import { Clock, Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { MunimentApi } from "@muniment/domain/api/MunimentApi"
import { durationMillis } from "@muniment/domain/Durations"
import { InsufficientStorage, InvalidRequest, NotFound } from "@muniment/domain/Errors"
import type { KeyScope } from "@muniment/domain/KeyScope"
import type { SeriesWindow } from "@muniment/domain/Operations"
import { Limits } from "@muniment/domain/Limits"
import { Accounts } from "@muniment/control/accounts/Accounts"
import { ApiKeyStore } from "@muniment/control/accounts/ApiKeyStore"
import { Wallets } from "@muniment/control/accounts/Wallets"
import { KeyRing, type KeyFileFault } from "@muniment/trust/KeyRing"
import { parseWalletAddress, type WalletAddress } from "@muniment/trust/WalletAddress"
import { ConversationExtraction } from "../extraction/ConversationExtraction.ts"
import { VectorBacklog } from "../jobs/VectorBacklog.ts"
import { exportedMemory } from "../memories/MemoryViews.ts"
import { AgentIndexes } from "../operator/AgentIndexes.ts"
import { OperatorService } from "../operator/OperatorService.ts"
import { ServiceSeries } from "../operator/series/ServiceSeries.ts"
import { agentsCursor, exportCursor } from "./Cursor.ts"

export const adminHandlers = HttpApiBuilder.group(
  MunimentApi,
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
      createAccount: ({ payload }) =>
        Effect.map(accounts.create(payload.name, payload), (account) => ({ success, account })),
      listAccounts: () => Effect.map(accounts.list, (all) => ({ success, accounts: all })),
      setRemember: ({ payload }) =>
        changed(operator.account(payload.account), ({ id }) => accounts.setRemember(id, payload.remember ?? undefined)),
      setInstructions: ({ payload }) =>
        changed(operator.account(payload.account), ({ id }) =>
          accounts.setInstructions(id, payload.instructions ?? undefined)
        ),
      createKey: Effect.fnUntraced(function* ({ payload }) {
        const account =
          (yield* accounts.byName(payload.account)) ?? (yield* accounts.create(payload.account, { plan: payload.plan }))
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

/** An account after its change. */
const changed = <E, R, F, S>(
  found: Effect.Effect<Account, E, R>,
  change: (account: Account) => Effect.Effect<Account, F, S>
) => Effect.map(Effect.flatMap(found, change), (account) => succeeded({ account }))

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

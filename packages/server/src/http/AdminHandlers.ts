/** Operator routes: accounts, keys, moving data, state (interface.md section 17). */
import { Effect, Schema } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { MunimentApi } from "@muniment/domain/api/MunimentApi"
import { InvalidRequest } from "@muniment/domain/Errors"
import { Accounts } from "@muniment/ledger/Accounts"
import { ApiKeyStore } from "@muniment/ledger/ApiKeyStore"
import { Reembed } from "../jobs/Reembed.ts"
import { exportedMemory } from "../memories/MemoryViews.ts"
import { OperatorService, type ExportPosition } from "../operator/OperatorService.ts"

export const adminHandlers = HttpApiBuilder.group(
  MunimentApi,
  "admin",
  Effect.fnUntraced(function* (handlers) {
    const accounts = yield* Accounts
    const keys = yield* ApiKeyStore
    const operator = yield* OperatorService
    const reembed = yield* Reembed
    const success = true as const

    return handlers.handleAll({
      status: () => Effect.map(operator.status, (status) => ({ success, ...status })),
      createAccount: ({ payload }) =>
        Effect.map(accounts.create(payload.name, payload), (account) => ({ success, account })),
      listAccounts: () => Effect.map(accounts.list, (all) => ({ success, accounts: all })),
      createKey: Effect.fnUntraced(function* ({ payload }) {
        const account =
          (yield* accounts.byName(payload.account)) ?? (yield* accounts.create(payload.account, { plan: payload.plan }))
        const { record, secret } = yield* keys.create(account, payload.label ?? "")
        return { success, key: record, secret }
      }),
      listKeys: Effect.fnUntraced(function* ({ query }) {
        const account = query.account === undefined ? undefined : yield* operator.account(query.account)
        return { success, keys: yield* keys.list(account?.id) }
      }),
      revokeKey: ({ params }) => Effect.map(keys.revoke(params.id), (key) => ({ success, key })),
      exportMemories: Effect.fnUntraced(function* ({ query }) {
        const from = query.cursor === undefined ? undefined : yield* decodePosition(query.cursor)
        const page = yield* operator.exportPage(query.account, from)
        return {
          success,
          account: page.account,
          schemas: page.schemas,
          records: page.memories.map(exportedMemory),
          ...(page.next !== undefined && { nextCursor: encodePosition(page.next) }),
          total: page.total
        }
      }),
      importMemories: ({ payload }) =>
        Effect.map(operator.importRecords(payload.account, payload.schemas ?? [], payload.records), (counts) => ({
          success,
          ...counts
        })),
      reembedProgress: () => Effect.map(reembed.progress, (progress) => ({ success, ...progress })),
      reembed: () => Effect.map(reembed.start, (progress) => ({ success, ...progress }))
    })
  })
)

const Position = Schema.fromJsonString(Schema.Struct({ namespace: Schema.String, afterSeq: Schema.Int }))
const decodeJson = Schema.decodeUnknownEffect(Position)

const encodePosition = (position: ExportPosition): string => Buffer.from(JSON.stringify(position)).toString("base64url")

const decodePosition = (cursor: string): Effect.Effect<ExportPosition, InvalidRequest> =>
  Effect.mapError(
    decodeJson(Buffer.from(cursor, "base64url").toString("utf8")),
    () => new InvalidRequest({ code: "invalid_request", error: "the cursor is not one of this service" })
  )

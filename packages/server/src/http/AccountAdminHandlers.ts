/** Operator routes (contract: Operator routes) for what becomes of accounts. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { MunimentApi } from "@muniment/domain/api/MunimentApi"
import { AuditLog } from "@muniment/control/audit/AuditLog"
import { Accounts } from "@muniment/control/accounts/Accounts"
import { Wallets } from "@muniment/control/accounts/Wallets"
import { AccountEraser } from "../operator/AccountEraser.ts"
import { OperatorService } from "../operator/OperatorService.ts"
import { walletAddress } from "./AdminHandlers.ts"

const eventsShownDefault = 100

export const accountAdminHandlers = HttpApiBuilder.group(
  MunimentApi,
  "accounts",
  Effect.fnUntraced(function* (handlers) {
    const accounts = yield* Accounts
    const wallets = yield* Wallets
    const operator = yield* OperatorService
    const eraser = yield* AccountEraser
    const log = yield* AuditLog
    const success = true as const

    return handlers.handleAll({
      suspend: Effect.fnUntraced(function* ({ payload }) {
        const { id } = yield* operator.account(payload.account)
        return { success, account: yield* accounts.suspend(id) }
      }),
      resume: Effect.fnUntraced(function* ({ payload }) {
        const { id } = yield* operator.account(payload.account)
        return { success, account: yield* accounts.resume(id) }
      }),
      erase: ({ payload }) =>
        Effect.map(eraser.erase(payload.account, payload.dryRun ?? false), (erasure) => ({ success, erasure })),
      audit: ({ query }) =>
        Effect.map(log.list({ before: query.before, limit: query.limit ?? eventsShownDefault }), (events) => ({
          success,
          events
        })),
      unlinkWallet: Effect.fnUntraced(function* ({ payload }) {
        const wallet = yield* walletAddress(payload.address)
        const { name } = yield* wallets.unlink(wallet.address)
        return { success, wallet: { ...wallet, account: name } }
      })
    })
  })
)

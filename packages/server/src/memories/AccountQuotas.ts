/** Use of accounts beside their quotas (contract: Quotas). */
import { Context, Effect, Layer } from "effect"
import type { Account } from "@muniment/domain/Account"
import { QuotaName, type QuotaUse } from "@muniment/domain/Quotas"
import { traced } from "@muniment/domain/traced"
import { ApiKeyStore } from "@muniment/control/accounts/ApiKeyStore"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import { Quotas } from "@muniment/control/accounts/Quotas"
import { SchemaRegistry } from "@muniment/control/accounts/SchemaRegistry"
import { StorageUse } from "./StorageUse.ts"
import { CallsUnderWay } from "../identity/CallsUnderWay.ts"

export class AccountQuotas extends Context.Service<
  AccountQuotas,
  {
    readonly of: (account: Account) => Effect.Effect<ReadonlyArray<QuotaUse>>
  }
>()("muniment/server/AccountQuotas") {
  static readonly layer = Layer.effect(
    this,
    Effect.gen(function* () {
      const quotas = yield* Quotas
      const registry = yield* SchemaRegistry
      const keys = yield* ApiKeyStore
      const directory = yield* NamespaceDirectory
      const calls = yield* CallsUnderWay
      const storage = yield* StorageUse
      return AccountQuotas.of({
        of: traced("AccountQuotas.of")(function* (account) {
          const { id } = account
          const { bytes: schemaBytes, schemas } = yield* registry.totals(id)
          const used: Record<QuotaName, number> = {
            bytes: yield* storage.usedBy(id),
            schemas,
            schemaBytes,
            agents: directory.list(id).length,
            keys: yield* keys.working(id),
            openRequests: calls.count(id)
          }
          const limits = quotas.of(account)
          return QuotaName.literals.map((name) => ({ name, used: used[name], limit: limits[name] ?? null }))
        })
      })
    })
  )
}

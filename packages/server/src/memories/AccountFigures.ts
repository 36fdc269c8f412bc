/**
 * Live memories of an account's agents (contract: Identity), by what is known of them: the call is free, so it opens no
 * agent, and reads each file at most once between two of its changes.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { ApiKeyStore } from "@muniment/control/accounts/ApiKeyStore"
import { Quotas } from "@muniment/control/accounts/Accounts"
import { SchemaRegistry } from "@muniment/control/accounts/SchemaRegistry"
import type { Account } from "@muniment/domain/Account"
import type { Identity, KeyScope } from "@muniment/domain/Identity"
import { Limits } from "@muniment/domain/Limits"
import { QuotaName, type QuotaUse } from "@muniment/domain/Plans"
import { traced } from "@muniment/domain/traced"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import { CallsUnderWay } from "../identity/CallsUnderWay.ts"
import { narrowed, seesAgent } from "../identity/KeyScopes.ts"
import { StorageUse } from "./StorageUse.ts"

export class AgentCounts extends Context.Service<
  AgentCounts,
  {
    /** Counts of the agents that the caller sees; null while a file cannot be read. */
    readonly of: (
      caller: Identity
    ) => Effect.Effect<ReadonlyArray<{ readonly agentId: string; readonly memories: number | null }>>
  }
>()("muniment/server/AgentCounts") {
  static readonly layer = Layer.effect(
    this,
    Effect.gen(function* () {
      const host = yield* NamespaceHost
      const directory = yield* NamespaceDirectory
      const storage = yield* StorageUse

      const countedInFile = Effect.fnUntraced(function* (key: NamespaceKey, subjects: KeyScope["subjects"]) {
        const atMillis = yield* Clock.currentTimeMillis
        const census = yield* host.census(key, { atMillis, createdBefore: -Infinity, subjects })
        return { count: census.unexpired, until: census.nextExpiry }
      })

      const countedIfOpen = (key: NamespaceKey, caller: Identity) => {
        if (caller.scope?.subjects === undefined)
          return Effect.map(host.answerIfOpen(key, { _tag: "Counts" }), (counts) => counts?.live)
        const filter = narrowed(caller, { includeSuperseded: true })
        const listed = host.answerIfOpen(key, { _tag: "ListPlaces", filter, after: undefined, limit: 0 })
        return Effect.map(listed, (list) => list?.total)
      }

      const seen = Effect.fnUntraced(function* (key: NamespaceKey, caller: Identity) {
        const inImage = yield* countedIfOpen(key, caller)
        if (inImage !== undefined) return inImage
        const subjects = caller.scope?.subjects
        // A key bound to subjects has counts of its own.
        const part = subjects === undefined ? undefined : `${caller.keyId}`
        return yield* storage.live(key, part, countedInFile(key, subjects))
      })

      return AgentCounts.of({
        of: traced("AgentCounts.of")(function* (caller) {
          const keys = directory.list(caller.account.id).filter(({ agentId }) => seesAgent(caller, agentId))
          const agents = yield* Effect.forEach(
            keys,
            (key) =>
              // A file that is set aside must not hide the others.
              Effect.match(seen(key, caller), {
                onSuccess: (memories) => ({ agentId: key.agentId, memories }),
                onFailure: () => ({ agentId: key.agentId, memories: null })
              }),
            // A fiber each is for several.
            { concurrency: keys.length === 1 ? 1 : Limits.namespaceFanOutMax }
          )
          // Whose agents are not chosen for it, a key learns none by name in which it sees nothing.
          const isNamed = caller.scope?.subjects === undefined || caller.scope.agents !== undefined
          return isNamed ? agents : agents.filter(({ memories }) => memories !== null && memories > 0)
        })
      })
    })
  )
}

/** Use of accounts beside their quotas (contract: Quotas). */
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

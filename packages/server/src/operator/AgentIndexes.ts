/**
 * Agents with what they hold and how their vectors are searched (contract: Operator routes), in pages by namespace tag.
 * An agent whose file cannot be read now is listed without numbers and hides no other.
 */
import { Context, Effect, Layer } from "effect"
import type { AgentIndex } from "@muniment/domain/api/AdminApi"
import type { NamespaceTag } from "@muniment/domain/Ids"
import { Limits } from "@muniment/domain/Limits"
import { Accounts } from "@muniment/control/accounts/Accounts"
import { NamespaceDirectory, type NamespaceEntry } from "@muniment/control/accounts/NamespaceDirectory"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { StorageUse } from "../memories/StorageUse.ts"

interface AgentIndexPage {
  readonly agents: ReadonlyArray<AgentIndex>
  /** Tag of the last agent, if there are more. */
  readonly last: NamespaceTag | undefined
}

export class AgentIndexes extends Context.Service<
  AgentIndexes,
  {
    /** Indexes of one account, by its id, or of all; `after` a tag. */
    readonly page: (from: {
      readonly account: string | undefined
      readonly after: string | undefined
      readonly limit: number
    }) => Effect.Effect<AgentIndexPage>
  }
>()("muniment/server/AgentIndexes") {
  static readonly layer = Layer.effect(
    this,
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const directory = yield* NamespaceDirectory
      const host = yield* NamespaceHost
      const storage = yield* StorageUse

      const numbersOf = (key: NamespaceEntry) =>
        Effect.gen(function* () {
          const { live } = yield* host.answer(key, { _tag: "Counts" })
          const indexes = yield* host.answer(key, { _tag: "Indexes" })
          return { memories: live, indexes: indexes.map(({ recall = null, ...state }) => ({ ...state, recall })) }
        }).pipe(Effect.orElseSucceed(() => ({ memories: null, indexes: [] })))

      return AgentIndexes.of({
        page: Effect.fn("AgentIndexes.page")(function* ({ account, after = "", limit }) {
          const names = new Map((yield* accounts.list).map(({ id, name }) => [id, name]))
          const keys = account === undefined ? directory.all() : directory.list(account)
          const left = keys.filter(({ tag }) => tag > after).toSorted((one, other) => (one.tag < other.tag ? -1 : 1))
          const shown = left.slice(0, limit)
          const agents = yield* Effect.forEach(
            shown,
            (key) =>
              Effect.map(numbersOf(key), (numbers) => ({
                account: names.get(key.account) ?? key.account,
                agentId: key.agentId,
                bytes: storage.ofAgent(key) ?? null,
                ...numbers
              })),
            { concurrency: Limits.namespaceFanOutMax }
          )
          return { agents, last: left.length > limit ? shown.at(-1)?.tag : undefined }
        })
      })
    })
  )
}

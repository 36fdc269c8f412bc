/**
 * The namespaces of an account: where its memories are, by agent, by filter and by id. Whoever asks for
 * another account's finds nothing.
 */
import { Effect } from "effect"
import type { InsufficientStorage } from "@muniment/domain/Errors"
import { namespaceTagOf } from "@muniment/domain/Ids"
import type { MemoryFilter } from "@muniment/domain/Search"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import type { NamespaceDirectory } from "@muniment/ledger/NamespaceDirectory"

export class OwnNamespaces {
  readonly #directory: NamespaceDirectory["Service"]

  constructor(directory: NamespaceDirectory["Service"]) {
    this.#directory = directory
  }

  of(account: string, agentId: string): NamespaceKey | undefined {
    const tag = this.#directory.resolve(account, agentId)
    return tag === undefined ? undefined : this.#directory.byTag(tag)
  }

  /** Those that a filter may look into. */
  visible(account: string, filter: MemoryFilter): ReadonlyArray<NamespaceKey> {
    if (filter.agentId === undefined) return this.#directory.list(account)
    const key = this.of(account, filter.agentId)
    return key === undefined ? [] : [key]
  }

  /** A namespace comes into being with the first valid request for it. */
  ensure(account: string, agentId: string): Effect.Effect<NamespaceKey, InsufficientStorage> {
    return Effect.map(this.#directory.ensure(account, agentId), (tag) => this.#directory.byTag(tag)!)
  }

  /** The account's own namespace that a memory id names. */
  ownerOf(account: string, id: string): NamespaceKey | undefined {
    const tag = namespaceTagOf(id)
    const key = tag === undefined ? undefined : this.#directory.byTag(tag)
    return key?.account === account ? key : undefined
  }

  /** Ids by their namespace, each once; foreign and unknown ones are left out. */
  byOwner(account: string, ids: ReadonlyArray<string>): ReadonlyMap<NamespaceKey, ReadonlyArray<string>> {
    const owned = [...new Set(ids)].flatMap((id) => {
      const key = this.ownerOf(account, id)
      return key === undefined ? [] : [{ key, id }]
    })
    const groups = Map.groupBy(owned, ({ key }) => key)
    return new Map(Array.from(groups, ([key, group]) => [key, group.map(({ id }) => id)]))
  }
}

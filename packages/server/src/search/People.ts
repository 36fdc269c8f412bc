/**
 * Who is who for a caller, by agent and subject: the user's name and aliases, and others with what they are to whom.
 * The one place that decides who the user is; a search, readings by models and answers take it from here.
 */
import { Effect } from "effect"
import type { Identity } from "@muniment/domain/Identity"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import { MemorySearch } from "@muniment/engine/search/MemorySearch"
import { nobody } from "@muniment/engine/people/People"
import { seesAgent, visibleParts } from "../identity/KeyScopes.ts"

/** Whose people: of one agent (absent: all of the account together) and subject (absent: the only one that there is). */
export interface PeopleScope {
  readonly agentId?: string | undefined
  readonly subjectId?: string | undefined
  /** Milliseconds: as the memories of that time tell it. */
  readonly asOf?: number | undefined
}

/** Finds the people of the caller's own agents. Fails as a search does. */
export const makePeople = Effect.gen(function* () {
  const directory = yield* NamespaceDirectory
  const searcher = yield* MemorySearch
  return Effect.fn("People.of")(function* (caller: Identity, { agentId, asOf, subjectId }: PeopleScope) {
    const own = directory.list(caller.account.id, agentId).filter((key) => seesAgent(caller, key.agentId))
    const parts = visibleParts(caller)
    if (own.length === 0) return nobody
    return yield* searcher.people(own, { filter: { asOf, subjectId }, scopeOf: () => parts })
  })
})

/** A test over an engine of its own: its directory, and the probe between the actor and its store. */
import type { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import type { MemorySearch } from "@muniment/engine/search/MemorySearch"
import { Effect, type Scope } from "effect"
import { engineOf, StoreProbe } from "../../support/EngineFixtures.ts"
import { effectOf, it, type Steps } from "../../support/it.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"

interface Parts {
  readonly directory: string
  readonly probe: StoreProbe
}

export const withEngine = (
  name: string,
  use: (parts: Parts) => Steps<MemorySearch | NamespaceHost | Scope.Scope>
): void =>
  it.effect(name, () => {
    const parts = { directory: temporaryDirectory(), probe: new StoreProbe() }
    return Effect.provide(effectOf(use(parts)), engineOf(parts.directory, { probe: parts.probe }))
  })

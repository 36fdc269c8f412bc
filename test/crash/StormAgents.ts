/** Agents of the storm, each with an account of its own, so that one that is damaged can be erased. */
import { namespaceTagOf } from "@muniment/domain/Ids"
import { Ledger, type LedgerCalls } from "../support/KillNineLedger.ts"
import { registerSlots } from "../support/KillNine.ts"
import type { SeededRandom } from "../support/SeededRandom.ts"
import type { ServerCalls } from "../support/TestServer.ts"

export interface StormAgent {
  /** Of the agent and its account. */
  readonly name: string
  readonly ledger: Ledger
  readonly calls: LedgerCalls
  /** Of its file; undefined: it has no memory yet. */
  readonly tag: () => string | undefined
  /** It was hit, and answered wrongly: what it has is looked at once the service has read its file. */
  isDoubtful: boolean
  /** Its file was brought back from a backup. */
  isRestored: boolean
}

/** `server`: the one that runs at the moment of a call. */
export const newStormAgent = async (
  server: () => ServerCalls,
  name: string,
  random: SeededRandom
): Promise<StormAgent> => {
  const key = await server().newAccount(name)
  const ledger = new Ledger(random)
  const calls: LedgerCalls = { call: (method, path, options) => server().call(method, path, { key, ...options }) }
  await registerSlots(calls)
  let tag: string | undefined
  const ownTag = () => (tag ??= namespaceTagOf(ledger.anyId ?? ""))
  return { name, ledger, calls, tag: ownTag, isDoubtful: false, isRestored: false }
}

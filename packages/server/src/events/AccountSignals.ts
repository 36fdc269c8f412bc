/**
 * Wakes those who follow an account when one of its agents has committed something. A signal carries no content and may
 * be late or repeated; what happened is read from the agent's file.
 */
import { Context, Effect, Layer, type Scope } from "effect"
import type { NamespaceTag } from "@muniment/domain/Ids"
import { CommitSignal } from "@muniment/engine/namespace/Namespace"

type Listener = (tag: NamespaceTag) => void

export class AccountSignals extends Context.Service<
  AccountSignals,
  {
    /** To one account, undefined: to all; until the scope ends. */
    readonly listen: (accountId: string | undefined, listener: Listener) => Effect.Effect<void, never, Scope.Scope>
  }
>()("muniment/server/AccountSignals") {
  static readonly layer: Layer.Layer<AccountSignals> = Layer.effectContext(
    Effect.sync(() => {
      const listeners = new Map<string | undefined, Set<Listener>>()
      const add = (accountId: string | undefined, listener: Listener) => {
        const own = listeners.get(accountId) ?? new Set()
        listeners.set(accountId, own.add(listener))
      }
      const remove = (accountId: string | undefined, listener: Listener) => {
        const own = listeners.get(accountId)
        own?.delete(listener)
        if (own?.size === 0) listeners.delete(accountId)
      }
      return Context.make(AccountSignals, {
        listen: (accountId, listener) =>
          Effect.acquireRelease(
            Effect.sync(() => add(accountId, listener)),
            () => Effect.sync(() => remove(accountId, listener))
          )
      }).pipe(
        Context.add(CommitSignal, ({ account, tag }) => {
          for (const concerned of [undefined, account])
            for (const listener of listeners.get(concerned) ?? []) listener(tag)
        })
      )
    })
  )
}

/**
 * Position of a follower in the events of each agent, as the opaque text that is the id of an event: 18 bytes an agent,
 * behind a byte for the form.
 */
export interface EventPosition {
  /** `EventPage.born` of the file that the number is of. */
  readonly born: number
  /** Number of the last event that was read. */
  readonly number: number
}

export type EventPositions = ReadonlyMap<NamespaceTag, EventPosition>

const form = 1
const fieldBytes = 6
const entryBytes = 3 * fieldBytes

export const encodePositions = (positions: EventPositions): string => {
  const bytes = Buffer.alloc(1 + positions.size * entryBytes)
  let at = bytes.writeUInt8(form)
  for (const [tag, { born, number }] of positions) {
    at += bytes.write(tag, at, "hex")
    at = bytes.writeUIntBE(born, at, fieldBytes)
    // Before the first event is -1.
    at = bytes.writeUIntBE(number + 1, at, fieldBytes)
  }
  return bytes.toString("base64url")
}

/** Undefined: the text is none of `encodePositions`. */
export const decodePositions = (text: string): EventPositions | undefined => {
  const bytes = Buffer.from(text, "base64url")
  if (bytes[0] !== form || (bytes.length - 1) % entryBytes !== 0 || bytes.toString("base64url") !== text)
    return undefined
  const positions = new Map<NamespaceTag, EventPosition>()
  for (let at = 1; at < bytes.length; at += entryBytes) {
    const field = (index: number) => bytes.readUIntBE(at + index * fieldBytes, fieldBytes)
    positions.set(bytes.toString("hex", at, at + fieldBytes), { born: field(1), number: field(2) - 1 })
  }
  return positions
}

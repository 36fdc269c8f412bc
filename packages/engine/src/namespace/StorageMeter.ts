/**
 * Port of the quota of bytes: what all namespaces of an account take, and whether there is room for more. The actor of a
 * namespace asks before it drafts a command, and says after each commit what its file holds.
 */
import { Context, Effect } from "effect"
import type { PayloadTooLarge } from "@muniment/domain/Errors"
import type { Room } from "./Commands.ts"
import type { NamespaceKey } from "../store/NamespaceStore.ts"

export interface StorageMeterService {
  /** Holds room for `growth` bytes, if the account has a quota; the number of bytes held. */
  readonly hold: (key: NamespaceKey, growth: () => number) => Effect.Effect<number, PayloadTooLarge>
  /**
   * Holds room for a command that another node plans: `most()` bytes, or what there is. Undefined: the account has no
   * quota.
   */
  readonly reserve: (key: NamespaceKey, most: () => number) => Effect.Effect<Reservation | undefined>
  /** A commit follows: a count that is kept elsewhere is outdated. */
  readonly changing: (key: NamespaceKey) => Effect.Effect<void>
  /**
   * Ends `held` bytes of holds; `bytes`, `memories`: what the namespace takes and holds now, undefined: as before;
   * unknown: perhaps with what was held.
   */
  readonly settle: (
    key: NamespaceKey,
    held: number,
    bytes: number | "unknown" | undefined,
    memories?: LiveMemories
  ) => void
  /** The namespace is erased. */
  readonly forget: (key: NamespaceKey) => void
}

/** Live memories, superseded versions included. */
export interface LiveMemories {
  readonly count: number
  /** Milliseconds: none expires before; -Infinity: not known. */
  readonly until: number
}

export interface Reservation {
  /** With what is held for others. */
  readonly room: Room
  readonly held: number
}

/** Without a meter nothing is bounded. */
export const StorageMeter = Context.Reference<StorageMeterService>("muniment/engine/StorageMeter", {
  defaultValue: () => ({
    hold: () => Effect.succeed(0),
    reserve: () => Effect.undefined,
    changing: () => Effect.void,
    settle: () => undefined,
    forget: () => undefined
  })
})

/** Bytes of a namespace by its file, whether it is open or not; undefined: unknown. */
export class StoredBytes extends Context.Service<
  StoredBytes,
  {
    readonly of: (key: NamespaceKey) => Effect.Effect<number | undefined, { readonly _tag: string }>
  }
>()("muniment/engine/StoredBytes") {}

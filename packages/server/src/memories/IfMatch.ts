/**
 * `If-Match` and `ETag` of memories (contract: Memories; RFC 9110, 13.1.1): a change names the versions that it is for.
 */
import { Effect } from "effect"
import { InvalidRequest, PreconditionFailed } from "@muniment/domain/Errors"
import type { MemoryVersion } from "@muniment/domain/Memory"
import { versionTag } from "@muniment/engine/namespace/versionTag"

/** Undefined: any version. */
export type IfMatch = ReadonlyArray<string> | undefined

export const versionOf = (memory: MemoryVersion): string => versionTag(memory, memory.isLatest)

export const etagOf = (version: string): string => `"${version}"`

/** Weak tags match nothing, `*` everything. */
export const ifMatchOf = (header: string | undefined): Effect.Effect<IfMatch, InvalidRequest> => {
  if (header === undefined || header.trim() === "*") return Effect.succeed(undefined)
  const items = header.split(",").map((item) => /^\s*(W\/)?"([\x21\x23-\x7e]*)"\s*$/.exec(item))
  return items.includes(null)
    ? malformed
    : Effect.succeed(items.flatMap((item) => (item?.[1] === undefined ? [item![2]!] : [])))
}

export const versionMismatch = Effect.suspend(() =>
  Effect.fail(
    new PreconditionFailed({
      code: "version_mismatch",
      error: "the memory was changed since: it is another version than `If-Match` names; read it again"
    })
  )
)

const malformed = Effect.suspend(() =>
  Effect.fail(
    new InvalidRequest({
      code: "invalid_request",
      error: "the header `if-match` must be an ETag in quotes, several with commas between, or *"
    })
  )
)

/**
 * `If-Match` and `ETag` of memories (contract: Memories; RFC 9110, 13.1.1): a change names the versions that it is for.
 */
import { Effect } from "effect"
import { PreconditionFailed } from "@muniment/domain/Errors"
import type { MemoryVersion } from "@muniment/domain/Memory"
import { versionTag } from "@muniment/engine/namespace/versionTag"

/** Undefined: any version. */
export type IfMatch = ReadonlyArray<string> | undefined

export const versionOf = (memory: MemoryVersion): string => versionTag(memory, memory.isLatest)

export const etagOf = (version: string): string => `"${version}"`

/** Reads a header that `ChangeHeaders` has let through. Weak tags match nothing, `*` everything. */
export const ifMatchOf = (header: string | undefined): IfMatch =>
  header === undefined || header === "*"
    ? undefined
    : [...header.matchAll(/(W\/)?"([^"]*)"/gu)].flatMap(([, weak, tag]) => (weak === undefined ? [tag!] : []))

export const versionMismatch = Effect.suspend(() =>
  Effect.fail(
    new PreconditionFailed({
      code: "version_mismatch",
      error: "the memory was changed since: it is another version than `If-Match` names; read it again"
    })
  )
)

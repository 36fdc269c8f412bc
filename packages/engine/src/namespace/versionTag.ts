/**
 * Version of a memory, as a short text that changes with each change of it (contract: Memories, ETag): its content,
 * tags, metadata and expiry, and whether a newer version supersedes it. Nothing in it can be read back.
 */
import { createHash } from "node:crypto"
import type { MemoryRecord } from "@muniment/domain/Memory"

const tagLength = 32

export const versionTag = (
  { contentHash, expiresAt, id, metadata, tags, updatedAt }: Omit<MemoryRecord, "origin" | "sources">,
  isLatest: boolean
): string =>
  createHash("sha256")
    .update(
      JSON.stringify([id, contentHash, tags, expiresAt ?? null, updatedAt, isLatest, ...(metadata ? [metadata] : [])])
    )
    .digest("hex")
    .slice(0, tagLength)

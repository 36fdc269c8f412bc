/** Bytes that commands add, as the quota counts them, before anybody has looked at what is stored (contract: Quotas). */
import { Limits } from "@muniment/domain/Limits"
import type { Command, GiveFeedback, ImportRecords, PatchMemories, StoreMemories } from "./Commands.ts"
import { feedbackBytes, memoryBytes, metadataBytes, tagBytes } from "../store/memoryBytes.ts"

export type GrowingCommand = StoreMemories | PatchMemories | GiveFeedback | ImportRecords

const growing: ReadonlySet<Command["_tag"]> = new Set<GrowingCommand["_tag"]>([
  "StoreMemories",
  "PatchMemories",
  "GiveFeedback",
  "ImportRecords"
])

export const mayGrow = (command: Command): command is GrowingCommand => growing.has(command._tag)

/** At most; less where something is stored already, or is replaced. */
export const growthMax = (command: GrowingCommand): number => {
  switch (command._tag) {
    case "StoreMemories":
      return command.memories.reduce(
        (sum, { isReplacement, record }) =>
          sum + memoryBytes(record) - (isReplacement ? Limits.memoryOverheadBytes : 0),
        0
      )
    case "PatchMemories": {
      const { metadata, tags } = command.patch
      return (
        new Set(command.ids).size * ((tags === undefined ? 0 : tagBytes(tags)) + metadataBytes(metadata ?? undefined))
      )
    }
    case "GiveFeedback":
      return feedbackBytes([command.feedback])
    case "ImportRecords":
      return command.records.reduce((sum, { record }) => sum + memoryBytes(record), 0)
  }
}

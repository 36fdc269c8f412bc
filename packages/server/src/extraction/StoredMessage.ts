/** Messages as a reader finds them in the store. */
import type { MemoryVersion } from "@muniment/domain/Memory"
import type { PendingMessage } from "@muniment/engine/store/Conversations"
import type { KeyedMessage } from "./ConversationMessages.ts"

/** When it was said, milliseconds. */
export const saidAt = ({ createdAt, when }: MemoryVersion): number =>
  when === undefined ? createdAt : Date.parse(when)

/** `isAgain`: beside messages of other days, so that each needs a time. */
export const storedMessage = (
  memory: MemoryVersion,
  { key, readKey }: PendingMessage,
  isAgain: boolean
): KeyedMessage => {
  const { data, sources, when } = memory
  const { name, role, text } = data
  const sentAt = data["sentAt"] ?? (isAgain ? when : undefined)
  return {
    role: role === "assistant" || role === "tool" ? role : "user",
    content: String(text),
    ...(typeof name === "string" && { name }),
    ...(typeof sentAt === "string" && { sentAt }),
    id: sources?.[0]?.id,
    key,
    readKey
  }
}

/**
 * The gate's features on our own conversations (`own/fit`), beside what is right: for the weights. Questions of one
 * conversation are also asked of the others, where nothing answers them.
 */
import { randomUUID } from "node:crypto"
import { Limits } from "@muniment/domain/Limits"
import { read, saysAll } from "../extraction/Wordings.ts"
import type { FoundHit } from "./ChatService.ts"
import { type Judged, judgedQuotes } from "./GateFit.ts"
import type { Service } from "./Service.ts"
import { sendConversation } from "./UnreadPlay.ts"
import { readUnreadSet, type UnreadConversation, type UnreadQuestion } from "./UnreadSet.ts"

/** A question of ours counts as so many: LoCoMo has ten times as many. */
const OWN_WEIGHT = 2

export const ownQuotes = async (service: Service): Promise<ReadonlyArray<Judged>> => {
  const { conversations, questions } = readUnreadSet("own/fit")
  const judged: Array<Judged> = []
  for (const conversation of conversations) {
    const agentId = `${conversation.id}-${randomUUID().slice(0, 8)}`
    await sendConversation(service, agentId, conversation)
    await service.settle()
    const now = conversation.messages.at(-1)?.sentAt ?? ""
    for (const label of questions.filter((one) => isAsked(conversations, conversation, one))) {
      const isOwn = label.conversation === conversation.id
      const limit = String(Limits.answerEvidenceDefault)
      const asked = new URLSearchParams({ agentId, query: label.question, now, limit })
      const { memories } = await service.call<Found>(`/v1/memories/search?${asked}`)
      const isRight = (_: FoundHit, quote: string): boolean =>
        isOwn && label.type !== "unanswerable" && saysAll(read(quote), label.expected)
      const quotes = judgedQuotes(label.question, memories, isRight)
      for (let times = 0; times < (isOwn ? OWN_WEIGHT : 1); times++) judged.push(...quotes)
    }
  }
  return judged
}

interface Found {
  readonly memories: ReadonlyArray<FoundHit>
}

/** Its own, and in chats with an assistant those of the other such chats: they name nobody who would give them away. */
const isAsked = (
  conversations: ReadonlyArray<UnreadConversation>,
  here: UnreadConversation,
  { conversation }: UnreadQuestion
): boolean => {
  const other = conversations.find(({ id }) => id === conversation)
  return conversation === here.id || (other !== undefined && !isOfPeople(other) && !isOfPeople(here))
}

const isOfPeople = ({ messages }: UnreadConversation): boolean => messages.some(({ name }) => name !== undefined)

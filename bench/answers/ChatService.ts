/** The service under test as a chat's clients see it: a running one by URL and key, or one started here. */
import type { Evidence } from "@muniment/insight/answers/WrittenAnswer"
import type { ChatMessage } from "./ChatSet.ts"
import { openService } from "./Service.ts"

export interface FoundHit {
  readonly id: string
  readonly kind: string
  readonly data: Evidence["data"]
  readonly context?: { readonly when?: string }
  readonly quality: { readonly relevance: number }
  readonly passage?: { readonly start: number; readonly end: number }
}

export interface ChatAnswer {
  readonly answer: string
  readonly memories: ReadonlyArray<FoundHit>
  readonly grounded: boolean
}

export interface ChatService {
  /** One thread for each session, in windows, until all are found by meaning. */
  readonly store: (agentId: string, messages: ReadonlyArray<ChatMessage>) => Promise<void>
  readonly ask: (agentId: string, question: string) => Promise<ChatAnswer>
  readonly stop: () => Promise<void>
}

const WINDOW = 50

export const openChatService = async (url: string | undefined, key: string | undefined): Promise<ChatService> => {
  const { call, stop } = await openService(url, key)
  const search = <A>(parameters: Readonly<Record<string, string>>): Promise<A> =>
    call(`/v1/memories/search?${new URLSearchParams(parameters)}`)
  return {
    store: async (agentId, messages) => {
      for (const [session, said] of Map.groupBy(messages, (message) => message.session)) {
        for (let start = 0; start < said.length; start += WINDOW) {
          const conversation = said
            .slice(start, start + WINDOW)
            .map(({ id, name, sentAt, text }) => ({ id, role: "user", name, content: text, sentAt }))
          const conversationDate = conversation[0]!.sentAt.slice(0, "2023-05-08".length)
          await call("/v1/memories", {
            agentId,
            threadId: `s${session}`,
            conversation,
            conversationDate,
            wait: "vectors"
          })
        }
      }
    },
    ask: (agentId, query) => search({ agentId, mode: "answer", query }),
    stop
  }
}

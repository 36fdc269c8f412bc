/** Entry of the rules' thread: one conversation in, one extraction out. No environment, no files, no state. */
import { serve } from "@muniment/worker/WorkerEntry"
import { readConversation } from "./ConversationReader.ts"
import type { RulesAnswer, RulesTask } from "./RulesProtocol.ts"

/** Loads every dictionary, which takes a second or more, before the thread is ready. */
readConversation({
  kinds: [],
  messages: [{ role: "user", content: "My name is Ada." }],
  context: [],
  summary: undefined,
  conversationDate: "2000-01-01"
})

serve<RulesTask, RulesAnswer>(readConversation)

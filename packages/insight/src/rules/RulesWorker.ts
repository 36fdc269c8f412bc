/** Entry of the rules' thread: one conversation in, one extraction out. No environment, no files, no state. */
import type { RulesAnswer, RulesTask } from "./RulesProtocol.ts"
import { readConversation } from "./ConversationReader.ts"

const answer = (task: RulesTask): RulesAnswer => readConversation(task)

export default answer

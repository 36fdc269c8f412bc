/**
 * Conversations as ChatGPT exports them: a tree of messages. Kept is the branch that the conversation ends in; what was
 * regenerated or edited away is left out. The user's custom instructions, which stand in every conversation, are kept
 * once.
 */
import {
  type Fields,
  type ForeignItem,
  type ImportOwner,
  digestOf,
  factItems,
  fieldsOf,
  instructionItems,
  isGiven,
  listOf,
  messageItems,
  partsText,
  textOf,
  unknownItem
} from "./ForeignItems.ts"

export const isChatgpt = (element: Fields): boolean => Object.keys(fieldsOf(element["mapping"])).length > 0

export const chatgptItems = (owner: ImportOwner, conversation: Fields): ReadonlyArray<ForeignItem> => {
  const threadId = textOf(conversation["conversation_id"], conversation["id"])
  if (threadId === undefined || !isGiven(conversation["mapping"])) return [unknownItem("no conversation of ChatGPT")]
  const nodes = fieldsOf(conversation["mapping"])
  const branch: Array<Fields> = []
  const seen = new Set<string>()
  for (let at = leafOf(conversation, nodes); at !== undefined && at in nodes && !seen.has(at);) {
    seen.add(at)
    const node = fieldsOf(nodes[at])
    branch.unshift(fieldsOf(node["message"]))
    at = textOf(node["parent"])
  }
  const away = Object.keys(nodes).filter((id) => !seen.has(id) && isGiven(fieldsOf(nodes[id])["message"]))
  return [
    ...branch.filter(({ id }) => id !== undefined).flatMap((message) => itemsOf(owner, message, threadId)),
    ...away.map(() => ({ skipped: "a message of an abandoned branch" }))
  ]
}

/** Where the conversation ends: as the export says, else its newest message that none follows. */
const leafOf = (conversation: Fields, nodes: Fields): string | undefined => {
  const current = textOf(conversation["current_node"])
  if (current !== undefined && current in nodes) return current
  const parents = new Set(Object.values(nodes).map((node) => fieldsOf(node)["parent"]))
  const timeOf = (id: string): number => Number(fieldsOf(fieldsOf(nodes[id])["message"])["create_time"] ?? 0)
  const leaves = Object.keys(nodes).filter((id) => !parents.has(id))
  return leaves.toSorted((one, other) => timeOf(one) - timeOf(other)).at(-1)
}

const itemsOf = (owner: ImportOwner, message: Fields, threadId: string): ReadonlyArray<ForeignItem> => {
  const content = fieldsOf(message["content"])
  const metadata = fieldsOf(message["metadata"])
  const type = content["content_type"]
  const at = message["create_time"]
  if (type === "user_editable_context") return instructionsOf(owner, content, metadata)
  if (type === "thoughts" || type === "reasoning_recap") return [{ skipped: "a thought of the model" }]
  if (metadata["is_visually_hidden_from_conversation"] === true) return [{ skipped: "a message that is not shown" }]
  const said = partsText(content["parts"]) || textOf(content["text"], content["result"])
  // Messages to a tool, such as the code that it runs.
  const isCall = textOf(message["recipient"], "all") !== "all"
  const role = isCall ? "tool" : fieldsOf(message["author"])["role"]
  const isPicture = said === undefined && listOf(content["parts"]).length > 0
  if (isPicture && partsText(content["parts"]) === "" && hasObjects(content["parts"]))
    return [{ skipped: "a message of pictures or files alone" }]
  return messageItems(owner, { id: String(message["id"]), role, text: said, at, threadId })
}

const hasObjects = (parts: unknown): boolean => listOf(parts).some((part) => typeof part === "object")

/** Custom instructions: the user about themselves, and wishes to the model; the same in every conversation. */
const instructionsOf = (owner: ImportOwner, content: Fields, metadata: Fields): ReadonlyArray<ForeignItem> => {
  const told = fieldsOf(metadata["user_context_message_data"])
  const about = textOf(told["about_user_message"]) ?? unwrapped(textOf(content["user_profile"]))
  const asked = textOf(told["about_model_message"]) ?? unwrapped(textOf(content["user_instructions"]))
  const idOf = (text: string): string => `instructions\0${digestOf(text).toString("hex")}`
  const items = [
    ...(isSaid(about) ? factItems(owner, { id: idOf(about), subject: "user", fact: about, at: undefined }) : []),
    ...(isSaid(asked) ? instructionItems(owner, { id: idOf(asked), fact: asked, at: undefined }) : [])
  ]
  return items.length > 0 ? items : [{ skipped: "custom instructions without text" }]
}

const isSaid = (text: string | undefined): text is string => text !== undefined && text.trim() !== ""

/** The export puts a sentence of its own before the text, which stands between fences. */
const unwrapped = (text: string | undefined): string | undefined => /```\n?([^]*?)\n?```/.exec(text ?? "")?.[1] ?? text

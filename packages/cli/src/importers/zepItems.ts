/**
 * Graphs of Zep and Graphiti, in the spellings of their SDKs: edges are facts about their source, with the time for
 * which they hold; summaries of nodes are facts about the node; episodes and messages are messages. The group, which
 * is a user's graph, is the subject.
 */
import {
  type Fields,
  type ForeignItem,
  type ImportOwner,
  factItems,
  fieldOf,
  isGiven,
  messageItems,
  textOf,
  unknownItem,
  unreadFields
} from "./ForeignItems.ts"

const uuidOf = (element: Fields): string | undefined => textOf(fieldOf(element, "uuid", "id"))
const groupOf = (element: Fields): unknown => fieldOf(element, "group_id", "user_id", "graph_id", "graph_uuid")

export const isZep = (element: Fields): boolean =>
  uuidOf(element) !== undefined &&
  (isGiven(element["fact"]) ||
    isGiven(fieldOf(element, "source_node_uuid", "episode_body", "role_type", "source_description")) ||
    (isGiven(groupOf(element)) && isGiven(fieldOf(element, "content", "summary", "labels"))))

/** Names of nodes by their uuid, which edges name their ends by. */
export class ZepNodes {
  readonly #names = new Map<string, string>()

  /** To be called with every element before the first one is read. */
  readonly note = (element: Fields): void => {
    const [id, name] = [uuidOf(element), textOf(element["name"])]
    const isEdge = isGiven(fieldOf(element, "source_node_uuid", "fact"))
    if (id !== undefined && name !== undefined && !isEdge && !isGiven(element["content"])) this.#names.set(id, name)
  }

  readonly items = (owner: ImportOwner, element: Fields, key: string): ReadonlyArray<ForeignItem> => {
    const id = uuidOf(element)
    if (id === undefined) return [unknownItem("an element without uuid")]
    const text = textOf(fieldOf(element, "content", "episode_body"))
    if (isGiven(element["fact"])) return this.#edge(owner, element, id)
    if (text !== undefined) return episodeItems(owner, element, id, text)
    if (textOf(element["summary"]) !== undefined) return this.#node(owner, element, id)
    const isNode = key === "nodes" || isGiven(fieldOf(element, "labels", "name"))
    return [isNode ? { skipped: "a node without a summary" } : unknownItem("an element without text")]
  }

  #edge(owner: ImportOwner, edge: Fields, id: string): ReadonlyArray<ForeignItem> {
    const source = textOf(fieldOf(edge, "source_node_uuid"))
    const named =
      textOf(fieldOf(edge, "source_node_name")) ?? (source === undefined ? undefined : this.#names.get(source))
    const group = groupOf(edge)
    return factItems(owner, {
      id,
      subject: named ?? textOf(group) ?? "graph",
      fact: edge["fact"],
      at: fieldOf(edge, "valid_at", "created_at"),
      until: fieldOf(edge, "invalid_at", "expired_at"),
      subjectId: group,
      metadata: unreadFields(edge, edgeFields)
    })
  }

  #node(owner: ImportOwner, node: Fields, id: string): ReadonlyArray<ForeignItem> {
    return factItems(owner, {
      id,
      subject: textOf(node["name"]) ?? "graph",
      fact: node["summary"],
      at: fieldOf(node, "created_at"),
      subjectId: groupOf(node),
      metadata: unreadFields(node, nodeFields)
    })
  }
}

/** Read, or of no use to a reader: the relation's name is in the fact, vectors and scores are made anew. */
const shared = "uuid id name group_id user_id graph_id graph_uuid created_at score relevance scope"
const edgeFields = [
  "fact valid_at invalid_at expired_at reference_time fact_embedding episodes episode_uuids hyperedge_uuid",
  "source_node_uuid source_node_name source_node_labels target_node_uuid target_node_name target_node_labels",
  shared
].flatMap((names) => names.split(" "))
const nodeFields = `${shared} summary labels name_embedding updated_at`.split(" ")

/** A message of a thread says who wrote it by role and name; before that by `role_type` and `role`. */
const episodeItems = (owner: ImportOwner, episode: Fields, id: string, text: string): ReadonlyArray<ForeignItem> => {
  const type = textOf(fieldOf(episode, "role_type"))
  const isTyped = type !== undefined && type !== "norole"
  const role = isTyped ? type : type === undefined ? (textOf(episode["role"]) ?? "user") : "user"
  const isMessage = isTyped || isGiven(episode["role"])
  const name = isTyped ? textOf(episode["role"], episode["name"]) : isMessage ? episode["name"] : undefined
  const threadId = textOf(fieldOf(episode, "session_id", "thread_id"), groupOf(episode)) ?? "zep"
  const at = fieldOf(episode, "valid_at", "created_at")
  const subjectId = groupOf(episode)
  return messageItems(owner, { id, role, text, at, threadId, subjectId, ...(name !== role && { name }) })
}

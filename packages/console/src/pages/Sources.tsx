/** Sources of a memory: the messages, in their words, and a link to their thread. */
import { allOf } from "../service/knowledge.ts"
import { useLoad } from "../service/load.ts"
import { type Memory, systemList, systemText } from "../service/memories.ts"
import { linkTo } from "../service/route.ts"
import { moment } from "../service/text.ts"
import { Show } from "../ui/Notice.tsx"

const messagesMax = 200

export const Sources = ({ memory }: { readonly memory: Memory }) => {
  const sources = systemList(memory, "sourceMessageIds")
  const threadId = systemText(memory, "threadId")
  const { loaded } = useLoad(
    async (signal) =>
      threadId === undefined
        ? []
        : (await allOf({ threadId, include: "messages", order: "asc" }, messagesMax, signal)).memories.filter(
            (message) => systemList(message, "sourceMessageIds").some((id) => sources.includes(id))
          ),
    [memory.id]
  )
  return (
    <div class="stack tight">
      <h3>Taken from</h3>
      <Show of={loaded}>
        {(messages) =>
          messages.length === 0 ? (
            <p class="small muted">
              {sources.length === 1 ? "Message" : "Messages"} {sources.join(", ")}, of which no text is kept.
            </p>
          ) : (
            <>
              {messages.map((message) => (
                <Quote key={message.id} message={message} />
              ))}
            </>
          )
        }
      </Show>
      {threadId !== undefined && (
        <p class="small">
          <a href={linkTo("conversations", { threadId })}>The whole conversation</a>
        </p>
      )}
    </div>
  )
}

const Quote = ({ message: { context, data } }: { readonly message: Memory }) => (
  <blockquote>
    <p>{String(data["text"] ?? "")}</p>
    <footer class="small muted">
      {String(data["name"] ?? data["role"] ?? "")}
      {context.when !== undefined && `, ${moment(Date.parse(context.when))}`}
    </footer>
  </blockquote>
)

/** One thread: messages in order, beside each the memories that were made of it; read again without storing to see why. */
import { useState } from "preact/hooks"
import type { ApiError } from "../service/api.ts"
import { allOf, type Extracted, tryReading } from "../service/knowledge.ts"
import { asApiError, useLoad } from "../service/load.ts"
import { type Memory, systemList, systemNumber, systemText } from "../service/memories.ts"
import { linkTo } from "../service/route.ts"
import { moment } from "../service/text.ts"
import { count, countOfMemories, summary } from "../service/words.ts"
import { ErasableHead } from "../ui/ErasableHead.tsx"
import { Empty, Refused, Show } from "../ui/Notice.tsx"
import { FoundItem, RejectedItem } from "../ui/Readings.tsx"

/** Messages that are shown, and may be read at once. */
const messagesMax = 200
const memoriesMax = 1_000

interface Loaded {
  readonly messages: ReadonlyArray<Memory>
  readonly total: number
  readonly made: ReadonlyArray<Memory>
}

const load = async (threadId: string, signal: AbortSignal): Promise<Loaded> => {
  const [said, made] = await Promise.all([
    allOf({ threadId, include: "messages", order: "asc" }, messagesMax, signal),
    allOf({ threadId, include: "extracted", includeSuperseded: true, order: "asc" }, memoriesMax, signal)
  ])
  return { messages: said.memories, total: said.total, made: made.memories }
}

export const Thread = (given: {
  readonly threadId: string
  readonly onClose: () => void
  readonly onErased: (memories: number) => void
}) => {
  const { threadId } = given
  const { loaded } = useLoad((signal) => load(threadId, signal), [threadId])
  return (
    <section class="card stack" aria-label="Thread">
      <ErasableHead
        title={threadId}
        question="Erase this thread"
        filters={{ threadId }}
        extent="its messages, what was made of them, and what is kept as context of the conversation."
        onErased={given.onErased}
        onClose={given.onClose}
      >
        <a class="button" href={linkTo("memories", { threadId })}>
          As a list
        </a>
      </ErasableHead>
      <Show of={loaded}>{(thread) => <Messages thread={thread} />}</Show>
    </section>
  )
}

const Messages = ({ thread: { made, messages, total } }: { readonly thread: Loaded }) => {
  const [reading, setReading] = useState<Extracted | undefined>(undefined)
  const [error, showError] = useState<ApiError | undefined>(undefined)
  const [isReading, setBusy] = useState(false)
  const byMessage = Map.groupBy(
    made.flatMap((memory) => systemList(memory, "sourceMessageIds").map((source) => ({ memory, source }))),
    ({ source }) => source
  )
  const known = new Set(messages.flatMap((message) => systemList(message, "sourceMessageIds")))
  const others = made.filter((memory) => !systemList(memory, "sourceMessageIds").some((id) => known.has(id)))
  const readAgain = (): void => {
    setBusy(true)
    showError(undefined)
    tryReading(messages.map(asRead))
      .then(setReading, (cause: unknown) => showError(asApiError(cause)))
      .finally(() => setBusy(false))
  }
  return (
    <>
      <p class="small muted">
        {count(total)} {total === 1 ? "message" : "messages"}
        {total > messages.length && `, the first ${messages.length} are shown`}, {countOfMemories(made.length)} made of
        them
      </p>
      {messages.length > 0 && (
        <div class="actions">
          <button type="button" disabled={isReading} onClick={readAgain}>
            {isReading ? "Reading …" : "Read again without storing"}
          </button>
          <span class="small muted">shows what the reader takes and what it leaves out, and why</span>
        </div>
      )}
      {error !== undefined && <Refused error={error} />}
      {messages.length === 0 && (
        <Empty title="No messages are stored">
          <p>This thread has memories alone: they were stored directly, or read with `remember: extracted`.</p>
        </Empty>
      )}
      <ol class="thread">
        {messages.map((message) => (
          <Message
            key={message.id}
            message={message}
            made={systemList(message, "sourceMessageIds").flatMap((id) =>
              (byMessage.get(id) ?? []).map(({ memory }) => memory)
            )}
            reading={reading}
          />
        ))}
      </ol>
      {others.length > 0 && (
        <div class="stack">
          <h3>Of no message that is shown</h3>
          <ul class="stack">
            {others.map((memory) => (
              <Made key={memory.id} memory={memory} />
            ))}
          </ul>
        </div>
      )}
    </>
  )
}

/** Named by the memory's id, so that what was found can be laid beside it. */
const asRead = ({ context, data, id }: Memory) => {
  const { name, role, text } = data
  return {
    id,
    role: typeof role === "string" ? role : "user",
    content: typeof text === "string" ? text : "",
    ...(typeof name === "string" && { name }),
    ...(context.when !== undefined && { sentAt: context.when })
  }
}

const Message = (given: {
  readonly message: Memory
  readonly made: ReadonlyArray<Memory>
  readonly reading: Extracted | undefined
}) => {
  const { made, message, reading } = given
  const { content, name, role } = asRead(message) as ReturnType<typeof asRead> & { readonly name?: string }
  const ofThis = ({ sourceMessageIds }: { readonly sourceMessageIds: ReadonlyArray<string> }) =>
    sourceMessageIds.includes(message.id)
  const found = reading?.found.filter(ofThis) ?? []
  const isAgain = (one: Said) => found.some((other) => isSame(one, other))
  const fresh = found.filter((one) => !made.some((memory) => isSame(memory, one)))
  const rejected = reading?.rejected.filter(ofThis) ?? []
  const at = message.context.when
  return (
    <li>
      <div class={`said ${role}`}>
        <div class="meta">
          <strong>{name ?? role}</strong>
          <span>{at === undefined ? moment(systemNumber(message, "createdAt") ?? 0) : moment(Date.parse(at))}</span>
        </div>
        <p>{content}</p>
      </div>
      <ul class="stack made-of" aria-label={`Made of the message of ${name ?? role}`}>
        {made.map((memory) => (
          <Made key={memory.id} memory={memory} isFoundAgain={isAgain(memory)} />
        ))}
        {fresh.map((one) => (
          <FoundItem key={JSON.stringify(one)} found={one} />
        ))}
        {rejected.map((one) => (
          <RejectedItem key={JSON.stringify(one)} rejected={one} />
        ))}
        {made.length + found.length + rejected.length === 0 && (
          <li class="small muted">
            {reading === undefined ? "nothing was made of it" : "the reader finds nothing in it"}
          </li>
        )}
      </ul>
    </li>
  )
}

interface Said {
  readonly kind: string
  readonly data: Memory["data"]
}

const isSame = (one: Said, other: Said): boolean => one.kind === other.kind && summary(one.data) === summary(other.data)

const Made = ({ isFoundAgain, memory }: { readonly memory: Memory; readonly isFoundAgain?: boolean }) => (
  <li class="made">
    <a href={linkTo("memories", { threadId: systemText(memory, "threadId"), id: memory.id })}>{summary(memory.data)}</a>
    <span class="meta">
      <span class="badge accent">{memory.kind}</span>
      {isFoundAgain === true && <span class="badge good">found again</span>}
      {!memory.context.isLatest && <span class="badge warn">superseded</span>}
    </span>
  </li>
)

/** Threads: the messages of one, and beside each what was made of it; and the reader, tried on a text. */
import { useState } from "preact/hooks"
import { change, parameters, linkTo } from "../service/route.ts"
import { otherAccounts } from "../service/session.ts"
import { countOfMemories, count, seen, summary } from "../service/words.ts"
import { Notice, Empty, Refused, Show } from "../ui/Notice.tsx"
import { type ErasedMemories, useHasNone, ValueList, ErasableHead } from "../ui/ValueList.tsx"
import type { ApiError } from "../service/api.ts"
import { type Extracted, facetsOf, type ReadMessage, tryReading, allOf } from "../service/knowledge.ts"
import { asApiError, useLoad } from "../service/load.ts"
import { type Memory, sourcesOf, systemNumber, systemText } from "../service/memories.ts"
import { moment } from "../service/text.ts"
import { Choice } from "../ui/Field.tsx"
import { UserText } from "../ui/UserText.tsx"

export const Conversations = () => {
  const given = parameters.value
  const threadId = given.get("threadId") ?? undefined
  const [round, setRound] = useState(0)
  const [outcome, tell] = useState("")
  const isEmpty = useHasNone("threads", round) && threadId === undefined
  return (
    <>
      <div class="head">
        <h2>Conversations</h2>
        {threadId === undefined ? (
          <p class="small">{isEmpty ? "" : "Choose a thread to see what was made of its messages"}</p>
        ) : (
          <button type="button" onClick={() => change({ threadId: "" })}>
            Try the reader
          </button>
        )}
      </div>
      {outcome !== "" && <Notice tone="good">{outcome}</Notice>}
      {isEmpty && (
        <Notice>
          No memory of this account names a thread yet: send a <code>conversation</code> with a <code>threadId</code> to{" "}
          <code>POST /v1/memories</code>, or try below what would be made of one. {otherAccounts()}
        </Notice>
      )}
      <div class={isEmpty ? "stack" : `pages ${threadId === undefined ? "" : "chosen"}`}>
        {!isEmpty && (
          <ValueList
            facet="threads"
            noun="thread"
            contains={given.get("contains") ?? ""}
            order={given.get("order") ?? ""}
            current={threadId}
            round={round}
            onChange={change}
            onChoose={(value) => change({ threadId: value, agentId: "", subjectId: "" })}
          />
        )}
        {threadId === undefined ? (
          <ReaderTrial />
        ) : (
          <Thread
            key={threadId}
            threadId={threadId}
            onClose={() => change({ threadId: "" })}
            onErased={({ deleted: memories }) => {
              tell(`${countOfMemories(memories)} of the thread ${threadId} ${memories === 1 ? "is" : "are"} erased.`)
              change({ threadId: "" })
              setRound((value) => value + 1)
            }}
          />
        )}
      </div>
    </>
  )
}

const example = "user: My name is Alice and I live in Seattle.\nassistant: Nice to meet you, Alice!"

const line = /^\s*(user|assistant|system)\s*:\s*(.*)$/i

/** A line is a message, `role: text`; one without a role goes on with the message before, or is the user's. */
const messagesOf = (text: string): ReadonlyArray<ReadMessage> => {
  const messages: Array<{ id: string; role: string; content: string }> = []
  for (const row of text.split("\n")) {
    const match = line.exec(row)
    const last = messages.at(-1)
    if (match !== null || last === undefined) {
      const [, role = "user", content = row] = match ?? []
      messages.push({ id: `m${messages.length + 1}`, role: role.toLowerCase(), content })
    } else last.content += `\n${row}`
  }
  return messages.filter(({ content }) => content.trim() !== "")
}

/** The reader of conversations on a text that is typed in; nothing is stored. */
const ReaderTrial = () => {
  const [text, setText] = useState("")
  const [result, setResult] = useState<Extracted | undefined>(undefined)
  const [error, showError] = useState<ApiError | undefined>(undefined)
  const [isReading, setReading] = useState(false)
  const read = (event: Event): void => {
    event.preventDefault()
    setReading(true)
    showError(undefined)
    tryReading(messagesOf(text === "" ? example : text))
      .then(setResult, (cause: unknown) => showError(asApiError(cause)))
      .finally(() => setReading(false))
  }
  return (
    <section class="card stack" aria-label="Try the reader">
      <div class="head">
        <h2>Try the reader</h2>
        <p class="small">Nothing is stored.</p>
      </div>
      <form class="stack" onSubmit={read}>
        <label>
          <span>Messages, one a line: who speaks, a colon, the text</span>
          <textarea
            dir="auto"
            rows={5}
            value={text}
            placeholder={example}
            onInput={({ currentTarget: { value } }) => setText(value)}
          />
        </label>
        <div class="actions">
          <button type="submit" class="primary" disabled={isReading}>
            {isReading ? "Reading …" : "Read"}
          </button>
        </div>
      </form>
      {error !== undefined && <Refused error={error} />}
      {result !== undefined && (
        <div aria-live="polite">
          {result.found.length + result.rejected.length === 0 ? (
            <Empty title="No facts found">
              <p>
                The reader found no statement that could become a memory of its own. The rules read English alone. The
                messages of a conversation are kept all the same, in any language, unless it is to keep extracted
                memories only.
              </p>
            </Empty>
          ) : (
            <ul class="stack">
              {result.found.map((found) => (
                <FoundItem key={JSON.stringify(found)} found={found} />
              ))}
              {result.rejected.map((rejected) => (
                <RejectedItem key={JSON.stringify(rejected)} rejected={rejected} />
              ))}
            </ul>
          )}
        </div>
      )}
    </section>
  )
}

/** Messages that are shown, and may be read at once. */
const messagesMax = 200
const memoriesMax = 1_000

interface Place {
  readonly threadId: string
  readonly agentId: string | undefined
  readonly subjectId: string | undefined
}

interface Loaded {
  /** Whose thread is shown; undefined: nobody has it any more. */
  readonly agentId: string | undefined
  /** All that have a thread of this name. */
  readonly agents: ReadonlyArray<string>
  /** All whom that agent's thread is about. */
  readonly subjects: ReadonlyArray<string>
  readonly messages: ReadonlyArray<Memory>
  readonly total: number
  readonly made: ReadonlyArray<Memory>
}

/** Agents give their threads names of their own: one agent is shown, the asked one or the one with most memories. */
const load = async (asked: Place, signal: AbortSignal): Promise<Loaded> => {
  const { threadId } = asked
  const valuesOf = async (facet: "agents" | "subjects", agentId?: string) =>
    (await facetsOf(facet, { threadId, agentId, order: "memories" }, signal)).values.map(({ value }) => value)
  const agents = await valuesOf("agents")
  const agentId = asked.agentId ?? agents[0]
  const subjects = await valuesOf("subjects", agentId)
  const place = { threadId, agentId, subjectId: asked.subjectId }
  const [said, made] = await Promise.all([
    allOf({ ...place, include: "messages", order: "asc" }, messagesMax, signal),
    allOf({ ...place, include: "extracted", includeSuperseded: true, order: "asc" }, memoriesMax, signal)
  ])
  return { agentId, agents, subjects, messages: said.memories, total: said.total, made: made.memories }
}

/** One thread: messages in order, beside each the memories that were made of it; read again without storing to see why. */
const Thread = (given: {
  readonly threadId: string
  readonly onClose: () => void
  readonly onErased: (erased: ErasedMemories) => void
}) => {
  const { threadId } = given
  const asked = {
    threadId,
    agentId: parameters.value.get("agentId") ?? undefined,
    subjectId: parameters.value.get("subjectId") ?? undefined
  }
  const { loaded } = useLoad((signal) => load(asked, signal), [threadId, asked.agentId, asked.subjectId])
  return (
    <section class="card stack" aria-label="Thread">
      <Show of={loaded}>
        {(thread) => {
          const { agentId, agents, subjects } = thread
          const chosen = {
            threadId,
            ...(agentId !== undefined && agents.length > 1 && { agentId }),
            ...(asked.subjectId !== undefined && { subjectId: asked.subjectId })
          }
          return (
            <>
              <ErasableHead
                title={threadId}
                question={agents.length > 1 ? `Erase this thread of ${agentId}` : "Erase this thread"}
                filters={chosen}
                extent="its messages, what was made of them, and what is kept as context of the conversation."
                onErased={given.onErased}
                onClose={given.onClose}
              >
                <a class="button" href={linkTo("memories", chosen)}>
                  As a list
                </a>
              </ErasableHead>
              {(agents.length > 1 || subjects.length > 1) && (
                <div class="pair">
                  {agents.length > 1 && (
                    <Choice
                      label="Agent"
                      value={agentId ?? ""}
                      options={agents.map((agent) => [agent, agent])}
                      onValue={(agent) => change({ agentId: agent, subjectId: "" })}
                    />
                  )}
                  {subjects.length > 1 && (
                    <Choice
                      label="Subject"
                      value={asked.subjectId ?? ""}
                      options={[["", "all"], ...subjects.map((subject) => [subject, subject] as const)]}
                      onValue={(subjectId) => change({ agentId, subjectId })}
                    />
                  )}
                </div>
              )}
              <Messages key={`${agentId} ${asked.subjectId}`} thread={thread} />
            </>
          )
        }}
      </Show>
    </section>
  )
}

const Messages = ({ thread: { made, messages, total } }: { readonly thread: Loaded }) => {
  const [reading, setReading] = useState<Extracted | undefined>(undefined)
  const [error, showError] = useState<ApiError | undefined>(undefined)
  const [isReading, setBusy] = useState(false)
  const byMessage = Map.groupBy(
    made.flatMap((memory) => sourcesOf(memory).map((source) => ({ memory, source }))),
    ({ source }) => source
  )
  const known = new Set(messages.flatMap(sourcesOf))
  const others = made.filter((memory) => !sourcesOf(memory).some((source) => known.has(source)))
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
            made={sourcesOf(message).flatMap((source) => (byMessage.get(source) ?? []).map(({ memory }) => memory))}
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
          <strong>
            <UserText of={name ?? role} />
          </strong>
          <span>{at === undefined ? moment(systemNumber(message, "createdAt") ?? 0) : moment(Date.parse(at))}</span>
        </div>
        <p dir="auto">{seen(content)}</p>
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
    <a href={linkTo("memories", { threadId: systemText(memory, "threadId"), id: memory.id })}>
      <UserText of={summary(memory.data)} />
    </a>
    <span class="meta">
      <span class="badge accent">{memory.kind}</span>
      {isFoundAgain === true && <span class="badge good">found again</span>}
      {!memory.context.isLatest && <span class="badge warn">superseded</span>}
    </span>
  </li>
)

type Found = Extracted["found"][number]
type Rejected = Extracted["rejected"][number]

const reasons: Readonly<Record<string, string>> = {
  low_confidence: "not sure enough",
  unsupported: "not said in the text",
  malformed: "not readable",
  instruction: "an instruction to the reader",
  question: "a question",
  hypothetical: "only imagined",
  unknown_kind: "of a kind that is not there",
  schema_validation_failed: "does not fit its schema",
  unique_field_missing: "lacks what identifies it",
  duplicate: "said already",
  near_duplicate: "nearly said already",
  too_many: "more than one reading may store"
}

/** Results of a reading of messages: what it found, what it left out, and why. */
const FoundItem = ({ found }: { readonly found: Found }) => (
  <li class="made found">
    <UserText of={summary(found.data)} />
    <span class="meta">
      <span class="badge good">would be stored</span>
      <span class="badge">{found.kind}</span>
      <span>confidence {found.confidence.toFixed(2)}</span>
      {found.when !== undefined && <span>{found.when.slice(0, 10)}</span>}
    </span>
  </li>
)

export const RejectedItem = ({ rejected }: { readonly rejected: Rejected }) => (
  <li class="made rejected">
    <UserText of={rejected.data === undefined ? rejected.message : summary(rejected.data)} />
    <span class="meta">
      <span class="badge warn">{reasons[rejected.reason] ?? rejected.reason}</span>
      {rejected.kind !== undefined && <span class="badge">{rejected.kind}</span>}
      {rejected.data !== undefined && <span>{rejected.message}</span>}
    </span>
  </li>
)

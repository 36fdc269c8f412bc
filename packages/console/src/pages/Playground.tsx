/**
 * A chat with the configured language model: beside each turn what was recalled for it, and what was stored of it. The
 * service asks the model, whose key no page sees.
 */
import type { CreatedMemories } from "@muniment/domain/Memory"
import { useLayoutEffect, useRef, useState } from "preact/hooks"
import { type Answer, type ApiError, call } from "../service/api.ts"
import { newKey } from "../service/browser.ts"
import { asApiError, useLoad } from "../service/load.ts"
import { modelProblemText } from "../service/operator.ts"
import { account, change, linkTo, parameters } from "../service/route.ts"
import { hasModel, mayChange, session } from "../service/session.ts"
import { memoryChanges } from "../service/undo.ts"
import { count, countOf, countOfCredits, countOfMemories, seen, summary } from "../service/words.ts"
import { Check } from "../ui/Dialog.tsx"
import { FacetField, Field, Filters } from "../ui/Field.tsx"
import { Empty, Notice, Refused } from "../ui/Notice.tsx"
import { UserText } from "../ui/UserText.tsx"
import { RejectedItem } from "./Conversations.tsx"

type Reply = Answer<"POST /v1/chat">

interface Turn {
  readonly id: string
  readonly said: string
  readonly answer: Reply
  /** Undefined: not yet, or not to be stored. */
  readonly stored?: CreatedMemories | ApiError
  readonly isStored: boolean
}

/** Turns of a chat that the model is shown. */
const turnsMax = 20
const usualAgent = "playground"

export const Playground = () => {
  const given = parameters.value
  const agentId = given.get("agentId") || usualAgent
  const subjectId = given.get("subjectId") || undefined
  const maxTokens = Number(given.get("maxTokens") || 0) || undefined
  const [threadId, setThread] = useState(newThread)
  const [turns, setTurns] = useState<ReadonlyArray<Turn>>([])
  const [text, setText] = useState("")
  const [isStoring, setStoring] = useState(mayChange())
  /** Said, and not yet replied to. */
  const [said, say] = useState<string | undefined>(undefined)
  const [error, showError] = useState<ApiError | undefined>(undefined)
  /** Ends with the chat: a reply that comes later is none of the next one, and is not stored. */
  const chat = useRef(new AbortController())
  // At once: an effect's end comes a frame after the page is gone.
  useLayoutEffect(() => () => chat.current.abort(), [])
  if (!hasModel.value) return <NoModel />

  const store = async (turn: Turn, of: string): Promise<CreatedMemories> => {
    const conversation = [
      { id: `${turn.id}-user`, role: "user", content: turn.said },
      { id: `${turn.id}-assistant`, role: "assistant", content: turn.answer.reply }
    ]
    const body = { agentId, threadId, ...(subjectId !== undefined && { subjectId }), conversation, wait: "extraction" }
    const made = await call("POST", "/v1/memories", { body, account: of })
    memoryChanges.value += 1
    return made
  }
  const send = (event: Event): void => {
    event.preventDefault()
    const next = text.trim()
    if (next === "" || said !== undefined) return
    say(next)
    setText("")
    showError(undefined)
    const { signal } = chat.current
    // Another may be chosen before the reply: what is said here is stored here.
    const of = account.value
    const before = turns.slice(-turnsMax).flatMap((turn) => [
      { role: "user", content: turn.said },
      { role: "assistant", content: turn.answer.reply }
    ])
    const body = {
      agentId,
      ...(subjectId !== undefined && { subjectId }),
      ...(maxTokens !== undefined && { maxTokens }),
      messages: [...before, { role: "user", content: next }]
    }
    call("POST", "/v1/chat", { body, account: of, signal })
      .then((answer) => {
        if (signal.aborted) return
        const turn: Turn = { id: newKey(), said: next, answer, isStored: isStoring }
        setTurns((all) => [...all, turn])
        say(undefined)
        if (!isStoring) return
        const keep = (stored: CreatedMemories | ApiError): void =>
          setTurns((all) => all.map((one) => (one.id === turn.id ? { ...one, stored } : one)))
        store(turn, of).then(keep, (cause: unknown) => keep(asApiError(cause)))
      })
      .catch((cause: unknown) => {
        if (signal.aborted) return
        say(undefined)
        showError(asApiError(cause))
        // What was typed meanwhile stays behind it.
        setText((typed) => (typed.trim() === "" ? next : `${next}\n${typed}`))
      })
  }
  const restart = (): void => {
    chat.current.abort()
    chat.current = new AbortController()
    setThread(newThread())
    setTurns([])
    say(undefined)
    showError(undefined)
  }
  const isNew = turns.length === 0 && said === undefined
  return (
    <>
      <div class="head">
        <h2>Playground</h2>
        {!isNew && (
          <div class="actions">
            {turns.length > 0 && (
              <a class="button" href={linkTo("conversations", { threadId })}>
                As a thread
              </a>
            )}
            <button type="button" onClick={restart}>
              New chat
            </button>
          </div>
        )}
      </div>
      <Filters names={["agentId", "subjectId", "maxTokens"]}>
        <FacetField
          facet="agents"
          label="Agent"
          value={given.get("agentId") ?? ""}
          placeholder={usualAgent}
          onValue={(value) => change({ agentId: value })}
        />
        <FacetField
          facet="subjects"
          label="Subject, who chats"
          value={subjectId ?? ""}
          placeholder="none"
          onValue={(value) => change({ subjectId: value })}
        />
        <Field
          label="Tokens at most"
          type="number"
          value={given.get("maxTokens") ?? ""}
          placeholder="1500"
          onValue={(value) => change({ maxTokens: value })}
        />
      </Filters>
      {session.value?.role === "operator" && <ModelState round={turns.length} />}
      {isNew && (
        <section class="card">
          <Empty title="Say something that is worth remembering">
            <p>
              Beside each turn stands what was recalled for it and what was stored of it. Begin a new chat to see what
              the agent still knows.
            </p>
          </Empty>
        </section>
      )}
      {!isNew && (
        <ol class="thread" aria-label="Chat" aria-live="polite">
          {turns.map((turn) => (
            <TurnItem key={turn.id} turn={turn} threadId={threadId} />
          ))}
          {said !== undefined && (
            <li>
              <Bubble role="user" text={said} />
            </li>
          )}
        </ol>
      )}
      {error !== undefined && <Refused error={error} />}
      <form class="card stack" aria-label="Next turn" onSubmit={send}>
        <label>
          <span>Your turn</span>
          <textarea
            rows={3}
            dir="auto"
            value={text}
            required
            onInput={({ currentTarget: { value } }) => setText(value)}
            onKeyDown={(event) => {
              if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send(event)
            }}
          />
        </label>
        <div class="actions">
          <button type="submit" class="primary" disabled={said !== undefined || text.trim() === ""}>
            {said !== undefined ? "The model replies …" : "Send"}
          </button>
          {mayChange() && (
            <Check label="Store each turn, as an agent would" checked={isStoring} onChecked={setStoring} />
          )}
        </div>
      </form>
    </>
  )
}

/** That the model failed when it was asked last, before anybody has typed. */
const ModelState = ({ round }: { readonly round: number }) => {
  const { value } = useLoad((signal) => call("GET", "/admin/status", { signal }), [round]).loaded
  const { problem, reader } = value?.extraction ?? { problem: null, reader: "" }
  return problem === null ? null : <Notice tone="warn">{modelProblemText(reader, problem)}</Notice>
}

const newThread = (): string => `playground-${newKey().slice(0, 8)}`

const NoModel = () => (
  <>
    <div class="head">
      <h2>Playground</h2>
    </div>
    <section class="card">
      <Empty title="No language model is configured">
        <p>
          The playground chats with the language model of the service, which has none: set{" "}
          <code>MUNIMENT_LLM_PROVIDER</code> and <code>MUNIMENT_LLM_MODEL</code>, and start it again.{" "}
          <a href="/docs/handbook">The handbook</a> says how. Without one, <a href={linkTo("context")}>Context</a> shows
          what an agent is handed, and <a href={linkTo("conversations")}>Conversations</a> what the rules read.
        </p>
      </Empty>
    </section>
  </>
)

const TurnItem = ({ threadId, turn }: { readonly turn: Turn; readonly threadId: string }) => {
  const { answer, said } = turn
  return (
    <li>
      <div class="stack tight">
        <Bubble role="user" text={said} />
        <Bubble role="assistant" text={answer.reply} />
      </div>
      <div class="stack tight">
        <Recalled answer={answer} />
        <Stored turn={turn} threadId={threadId} />
      </div>
    </li>
  )
}

const Bubble = ({ role, text }: { readonly role: string; readonly text: string }) => (
  <div class={`said ${role}`}>
    <div class="meta">
      <strong>{role}</strong>
    </div>
    <p dir="auto">{seen(text)}</p>
  </div>
)

const Recalled = ({ answer: { context, model, modelCredits } }: { readonly answer: Reply }) => {
  const { leftOut, sources = [], text = "", tokens } = context
  const left = leftOut.facts + leftOut.messages
  return (
    <section class="stack tight" aria-label="Recalled">
      <h3>{text === "" ? "Nothing was recalled" : `Recalled: ${countOf(tokens, "token")}`}</h3>
      <p class="small muted">
        {countOfMemories(sources.length)} cited{" "}
        {sources.map((id, at) => (
          <span key={id}>
            <a href={linkTo("memories", { id })}>[{at + 1}]</a>{" "}
          </span>
        ))}
        {left > 0 && `· ${count(left)} left out for want of room `}· {model}
        {modelCredits > 0 && ` · ${countOfCredits(modelCredits)} for its tokens`}
      </p>
      {text !== "" && (
        <details>
          <summary class="small">The context that it was given</summary>
          <pre tabIndex={0}>{seen(text)}</pre>
        </details>
      )}
    </section>
  )
}

const Stored = ({ threadId, turn: { isStored, stored } }: { readonly turn: Turn; readonly threadId: string }) => {
  if (!isStored) return <p class="small muted">Nothing of this turn is stored.</p>
  if (stored === undefined) {
    return (
      <p class="small muted" role="status">
        <span class="spinner" aria-hidden="true" /> Storing and reading …
      </p>
    )
  }
  if (stored instanceof Error) return <Refused error={stored} />
  const made = [...stored.created, ...stored.updated].filter(({ kind }) => kind !== "conversation_message")
  return (
    <section class="stack tight" aria-label="Stored">
      <h3>
        Stored: {countOf(stored.messages?.stored ?? 0, "message")}, {countOfMemories(made.length)}
      </h3>
      {stored.extractionProblem !== undefined && <Notice tone="warn">{stored.extractionProblem.message}</Notice>}
      {stored.extraction === "pending" && <p class="small muted">The messages are read later.</p>}
      <ul class="stack tight">
        {made.map(({ data, id, kind }) => (
          <li key={id} class="made">
            <a href={linkTo("memories", { threadId, id })}>
              <UserText of={summary(data)} />
            </a>
            <span class="meta">
              <span class="badge accent">{kind}</span>
            </span>
          </li>
        ))}
        {stored.rejected?.map((one) => (
          <RejectedItem key={JSON.stringify(one)} rejected={one} />
        ))}
      </ul>
    </section>
  )
}

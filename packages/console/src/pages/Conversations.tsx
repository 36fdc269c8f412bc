/** Threads: the messages of one, and beside each what was made of it; and the reader, tried on a text. */
import { useState } from "preact/hooks"
import { change, parameters } from "../service/route.ts"
import { otherAccounts } from "../service/session.ts"
import { countOfMemories } from "../service/words.ts"
import { Notice, Empty, Refused } from "../ui/Notice.tsx"
import { useHasNone, ValueList } from "../ui/ValueList.tsx"
import { Thread } from "./Thread.tsx"
import type { ApiError } from "../service/api.ts"
import { type Extracted, type ReadMessage, tryReading } from "../service/knowledge.ts"
import { asApiError } from "../service/load.ts"
import { FoundItem, RejectedItem } from "../ui/Readings.tsx"

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
            onChoose={(value) => change({ threadId: value })}
          />
        )}
        {threadId === undefined ? (
          <ReaderTrial />
        ) : (
          <Thread
            key={threadId}
            threadId={threadId}
            onClose={() => change({ threadId: "" })}
            onErased={(memories) => {
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

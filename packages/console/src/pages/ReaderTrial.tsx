/** The reader of conversations on a text that is typed in; nothing is stored. */
import { useState } from "preact/hooks"
import type { ApiError } from "../service/api.ts"
import { type Extracted, type ReadMessage, tryReading } from "../service/knowledge.ts"
import { asApiError } from "../service/load.ts"
import { Empty, Refused } from "../ui/Notice.tsx"
import { FoundItem, RejectedItem } from "../ui/Readings.tsx"

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

export const ReaderTrial = () => {
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

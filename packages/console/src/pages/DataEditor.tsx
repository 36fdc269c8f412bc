/**
 * Data of a memory, changed as JSON: a kind with unique fields gets a new version, of others the data is replaced. What
 * was opened is what is changed: if somebody else changed it meanwhile, both are shown, and one is chosen.
 */
import { useState } from "preact/hooks"
import { ApiError, call } from "../service/api.ts"
import { asApiError } from "../service/load.ts"
import { type Memory, versionsOf } from "../service/memories.ts"
import { change } from "../service/route.ts"
import { Notice, Refused } from "../ui/Notice.tsx"

export const DataEditor = (given: {
  readonly memory: Memory
  readonly onClose: () => void
  readonly onChanged: () => void
}) => {
  const { memory } = given
  const [text, setText] = useState(() => asText(memory))
  const [error, showError] = useState<ApiError | undefined>(undefined)
  const [newer, showNewer] = useState<Memory | undefined>(undefined)
  const [isSaving, setSaving] = useState(false)
  const end = ({ id }: Memory): void => {
    given.onClose()
    given.onChanged()
    if (id !== memory.id) change({ id })
  }
  const save = (event: Event): void => {
    event.preventDefault()
    setSaving(true)
    showError(undefined)
    store(newer ?? memory, text)
      .then(end, async (cause: unknown) => {
        if (!(cause instanceof ApiError && cause.status === 412)) throw cause
        showNewer((await versionsOf(memory.id, new AbortController().signal))[0])
      })
      .catch((cause: unknown) => showError(asApiError(cause)))
      .finally(() => setSaving(false))
  }
  return (
    <form class="stack" onSubmit={save}>
      <label>
        <span>Data, as JSON</span>
        <textarea rows={8} value={text} onInput={({ currentTarget: { value } }) => setText(value)} />
      </label>
      {newer === undefined ? (
        <p class="small muted">
          A kind with unique fields keeps what was known before as an older version; of other kinds it is replaced.
        </p>
      ) : (
        <Notice tone="bad">
          <p>Somebody else changed this memory since you opened it. Nothing of yours is stored. It now says:</p>
          <pre>{asText(newer)}</pre>
        </Notice>
      )}
      {error !== undefined && <Refused error={error} />}
      <div class="actions">
        <button type="submit" class="primary" disabled={isSaving}>
          {newer === undefined ? "Save data" : "Save mine over it"}
        </button>
        <button type="button" onClick={newer === undefined ? given.onClose : () => end(newer)}>
          {newer === undefined ? "Cancel" : "Keep theirs"}
        </button>
      </div>
    </form>
  )
}

const asText = ({ data }: Memory): string => JSON.stringify(data, null, 2)

/** The memory that has the data now; 412 if it is another version than the one given. */
const store = async ({ id, version }: Memory, text: string): Promise<Memory> =>
  (
    await call<{ readonly memory: Memory }>("PATCH", `/v1/memories/${encodeURIComponent(id)}`, {
      body: { data: dataOf(text) },
      headers: { "if-match": `"${version}"` }
    })
  ).memory

const dataOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    throw new ApiError(400, { error: "The data is no JSON.", code: "invalid_json" })
  }
}

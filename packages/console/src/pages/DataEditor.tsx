/** Data of a memory, changed as JSON: a kind with unique fields gets a new version, of others the data is replaced. */
import { useState } from "preact/hooks"
import { ApiError, call } from "../service/api.ts"
import { asApiError } from "../service/load.ts"
import { changeTags, type Memory, systemNumber, systemText } from "../service/memories.ts"
import { change } from "../service/route.ts"
import { Refused } from "../ui/Notice.tsx"

export const DataEditor = (given: {
  readonly memory: Memory
  readonly onClose: () => void
  readonly onChanged: () => void
}) => {
  const { memory } = given
  const [text, setText] = useState(() => JSON.stringify(memory.data, null, 2))
  const [error, showError] = useState<ApiError | undefined>(undefined)
  const [isSaving, setSaving] = useState(false)
  const save = (event: Event): void => {
    event.preventDefault()
    setSaving(true)
    store(memory, text).then(
      (id) => {
        given.onClose()
        given.onChanged()
        if (id !== memory.id) change({ id })
      },
      (cause: unknown) => {
        showError(asApiError(cause))
        setSaving(false)
      }
    )
  }
  return (
    <form class="stack" onSubmit={save}>
      <label>
        <span>Data, as JSON</span>
        <textarea rows={8} value={text} onInput={({ currentTarget: { value } }) => setText(value)} />
      </label>
      <p class="small muted">
        A kind with unique fields keeps what was known before as an older version; of other kinds it is replaced.
      </p>
      {error !== undefined && <Refused error={error} />}
      <div class="actions">
        <button type="submit" class="primary" disabled={isSaving}>
          Save data
        </button>
        <button type="button" onClick={given.onClose}>
          Cancel
        </button>
      </div>
    </form>
  )
}

interface Written {
  readonly created: ReadonlyArray<{ readonly id: string }>
  readonly updated: ReadonlyArray<{ readonly id: string }>
}

/** Id of the memory that has the data now. */
const store = async (memory: Memory, text: string): Promise<string> => {
  const { context, id, kind } = memory
  const expiresAt = systemNumber(memory, "expiresAt")
  const body = {
    agentId: systemText(memory, "agentId"),
    subjectId: systemText(memory, "subjectId"),
    threadId: systemText(memory, "threadId"),
    memories: [{ id, kind, data: dataOf(text), ...(expiresAt !== undefined && { expiresAt }) }]
  }
  const { created, updated } = await call<Written>("POST", "/v1/memories", { body })
  const version = created[0]?.id
  if (version !== undefined && context.tags.length > 0) await changeTags(version, context.tags)
  return version ?? updated[0]?.id ?? id
}

const dataOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    throw new ApiError(400, { error: "The data is no JSON.", code: "invalid_json" })
  }
}

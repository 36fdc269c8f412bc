/** Memories that were chosen on the map, read as they are needed. */
import { useEffect, useState } from "preact/hooks"
import type { ApiError } from "../service/api.ts"
import { asApiError } from "../service/load.ts"
import { getMemory, type Memory, systemText } from "../service/memories.ts"
import { change } from "../service/route.ts"
import { count, summary } from "../service/words.ts"
import { Icon } from "../ui/Icon.tsx"
import { Refused, Waiting } from "../ui/Notice.tsx"

const portion = 20

export const ChosenMemories = (given: { readonly ids: ReadonlyArray<string>; readonly onClose: () => void }) => {
  const { ids } = given
  const key = ids.join()
  const [wanted, setWanted] = useState(portion)
  const [memories, setMemories] = useState<ReadonlyArray<Memory>>([])
  const [error, showError] = useState<ApiError | undefined>(undefined)
  useEffect(() => {
    setMemories([])
    setWanted(portion)
  }, [key])
  useEffect(() => {
    const controller = new AbortController()
    Promise.all(ids.slice(0, wanted).map((id) => getMemory(id, controller.signal))).then(
      setMemories,
      (cause: unknown) => {
        if (!controller.signal.aborted) showError(asApiError(cause))
      }
    )
    return () => controller.abort()
  }, [key, wanted])
  return (
    <section class="card stack side-list" aria-label="Chosen memories">
      <div class="head">
        <h2>{count(ids.length)} chosen</h2>
        <button type="button" class="plain" onClick={given.onClose}>
          <Icon name="close" /> <span class="hidden">End the choice</span>
        </button>
      </div>
      {error !== undefined && <Refused error={error} />}
      {memories.length === 0 && error === undefined && <Waiting />}
      <ul class="choices">
        {memories.map((memory) => (
          <li key={memory.id}>
            <button type="button" onClick={() => change({ id: memory.id })}>
              <span class="what">{summary(memory.data)}</span>
              <span class="small muted" />
              <span class="small muted">
                {memory.kind} {systemText(memory, "subjectId") ?? ""}
              </span>
            </button>
          </li>
        ))}
      </ul>
      {wanted < ids.length && (
        <div class="actions">
          <button type="button" onClick={() => setWanted((value) => value + portion)}>
            Show more
          </button>
        </div>
      )}
    </section>
  )
}

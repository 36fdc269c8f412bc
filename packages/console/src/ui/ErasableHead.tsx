/** The head of a page of one thing that can be erased: its name, what can be done with it, its erasure after a dry run. */
import type { ComponentChildren } from "preact"
import { useState } from "preact/hooks"
import { removeAll } from "../service/knowledge.ts"
import { countOfMemories } from "../service/words.ts"
import { Confirm } from "./Dialog.tsx"

export const ErasableHead = (given: {
  readonly title: string
  /** Question of the dialog. */
  readonly question: string
  /** What matches is erased. */
  readonly filters: Readonly<Record<string, string>>
  /** What goes with the memories, and what stays; a sentence goes on. */
  readonly extent: string
  readonly onErased: (memories: number) => void
  readonly onClose: () => void
  readonly children: ComponentChildren
}) => {
  const [isErasing, setErasing] = useState(false)
  return (
    <>
      <div class="head">
        <h2>{given.title}</h2>
        <div class="actions">
          {given.children}
          <button type="button" class="danger" onClick={() => setErasing(true)}>
            Erase …
          </button>
          <button type="button" onClick={given.onClose}>
            Close
          </button>
        </div>
      </div>
      {isErasing && (
        <Confirm
          title={given.question}
          action="Erase"
          preview={() => removeAll(given.filters, true)}
          describe={({ deleted }) => (
            <p>
              This deletes <strong>{countOfMemories(deleted)}</strong> for good: {given.extent}
            </p>
          )}
          run={async () => {
            const { deleted } = await removeAll(given.filters, false)
            given.onErased(deleted)
          }}
          onClose={() => setErasing(false)}
        />
      )}
    </>
  )
}

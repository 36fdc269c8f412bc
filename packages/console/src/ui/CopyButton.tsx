/** Copies a text that is shown. Where the browser lets the page copy nothing, as over plain HTTP, it selects the text. */
import type { RefObject } from "preact"
import { useState } from "preact/hooks"

export const CopyButton = (given: {
  readonly text: string
  /** Element that shows the text and nothing else. */
  readonly shown: RefObject<HTMLElement | null>
  /** What it copies, where there are several. */
  readonly name?: string
}) => {
  const { name, shown, text } = given
  /** The text that was copied or selected: of another nothing was. */
  const [done, setDone] = useState<{ readonly copied?: string; readonly selected?: string }>({})
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text)
      setDone({ copied: text })
    } catch {
      if (shown.current !== null) getSelection()?.selectAllChildren(shown.current)
      setDone({ selected: text })
    }
  }
  return (
    <>
      <button type="button" class={name === undefined ? "" : "plain"} onClick={() => void copy()}>
        {done.copied === text ? "Copied" : "Copy"}
        {name !== undefined && <span class="hidden"> {name}</span>}
      </button>
      {done.selected === text && (
        <span class="small muted" role="status">
          This page may not copy. The text is selected: press Ctrl+C or ⌘C.
        </span>
      )}
    </>
  )
}

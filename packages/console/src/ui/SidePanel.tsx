/** One thing beside a list; over it on a narrow screen, where it takes the focus. Escape closes it, from anywhere but a
 * dialog, or a field outside that Escape empties. */
import type { ComponentChildren, RefObject } from "preact"
import { useEffect, useRef, useLayoutEffect } from "preact/hooks"
import { Icon } from "./Icon.tsx"

export const SidePanel = (given: {
  readonly label: string
  readonly title: string
  readonly onClose: () => void
  readonly children: ComponentChildren
}) => {
  const panel = useRef<HTMLElement>(null)
  const button = useRef<HTMLButtonElement>(null)
  const onClose = useRef(given.onClose)
  onClose.current = given.onClose
  const close = (): void => onClose.current()
  useFocusReturn(panel)
  useEffect(() => {
    const { current } = panel
    if (current === null) return undefined
    if (getComputedStyle(current).position === "fixed") button.current?.focus()
    const onKey = (event: KeyboardEvent): void => {
      const target = event.target as Element
      const isTyped = !current.contains(target) && target.closest("input, select, textarea") !== null
      if (event.key === "Escape" && document.querySelector("dialog[open]") === null && !isTyped) close()
    }
    document.addEventListener("keydown", onKey)
    return () => document.removeEventListener("keydown", onKey)
  }, [])
  return (
    <aside ref={panel} class="card panel stack" aria-label={given.label}>
      <div class="head">
        <h2>{given.title}</h2>
        <button type="button" class="plain" ref={button} onClick={close}>
          <Icon name="close" /> <span class="hidden">Close</span>
        </button>
      </div>
      {given.children}
    </aside>
  )
}

/** Focus comes back to where it was when the part goes away, unless it has gone on outside of the part meanwhile. */
const useFocusReturn = (part: RefObject<HTMLElement | null>): void => {
  useLayoutEffect(() => {
    const before = document.activeElement
    const own = part.current
    return () => {
      const now = document.activeElement
      const isLost = now === null || now === document.body || own?.contains(now) === true
      if (isLost && before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
}

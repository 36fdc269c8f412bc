/** One thing beside a list; over it on a narrow screen, where it takes the focus. Escape closes it. */
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
  const close = useRef<HTMLButtonElement>(null)
  useFocusReturn(panel)
  useEffect(() => {
    const { current } = panel
    if (current === null) return undefined
    if (getComputedStyle(current).position === "fixed") close.current?.focus()
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === "Escape" && !(event.target as Element).closest("dialog")) given.onClose()
    }
    current.addEventListener("keydown", onKey)
    return () => current.removeEventListener("keydown", onKey)
  }, [])
  return (
    <aside ref={panel} class="card panel stack" aria-label={given.label}>
      <div class="head">
        <h2>{given.title}</h2>
        <button type="button" class="plain" ref={close} onClick={given.onClose}>
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

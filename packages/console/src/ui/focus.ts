/** Focus that comes back to where it was when a part that took it goes away. */
import type { RefObject } from "preact"
import { useLayoutEffect } from "preact/hooks"

/** For the life of the part: afterwards focus returns, unless it has gone on outside of the part meanwhile. */
export const useFocusReturn = (part: RefObject<HTMLElement | null>): void => {
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

/** Text that is being typed for a value that comes from elsewhere; reset when that value changes. */
import { useLayoutEffect, useState } from "preact/hooks"

/** Set before the field can be typed into: an effect after the first frame would take back what was typed until then. */
export const useDraft = (value: string): [text: string, setText: (text: string) => void] => {
  const [text, setText] = useState(value)
  useLayoutEffect(() => setText(value), [value])
  return [text, setText]
}

/** Settings as lines that can be pasted into a shell. */
import { shownText } from "../ShownText.ts"

export const settingLine = (name: string, value: string): string => `export ${name}=${shellWord(value)}`

/** One word for a shell, whatever is in it. */
export const shellWord = (text: string): string =>
  /^[\w.:/@+-]+$/.test(text) ? text : `'${shownText(text).replaceAll("'", `'\\''`)}'`

/** A memory as one line for a terminal: its kind, the fields of its data, its id. */
import type { Answer } from "@muniment/client/Contract"
import { shownText } from "./ShownText.ts"

const charactersMax = 300

export const memoryLine = ({ data, id, kind }: Pick<Answer<"get">["memory"], "data" | "id" | "kind">): string => {
  const text = Object.entries(data)
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ")
  const cut = text.length > charactersMax ? `${text.slice(0, charactersMax)}...` : text
  return `${shownText(kind)}  ${shownText(cut)}  (${id})`
}

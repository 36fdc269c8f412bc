/** One sentence through the rules, its candidates written short, so that a table of sentences stays readable. */
import type { Candidate, Extraction } from "@muniment/insight/extraction/Extractor"
import { readConversation } from "@muniment/insight/rules/ConversationReader"
import type { RulesTask } from "@muniment/insight/rules/RulesProtocol"
import { factKinds } from "@muniment/schemas/BuiltinKinds"

/** A sentence of a user, and its candidates as `brief` writes them. */
export type Row = readonly [sentence: string, expected: ReadonlyArray<string>]

/** A Wednesday. */
export const conversationDate = "2026-03-04"

export const said = (...contents: ReadonlyArray<string>): RulesTask["messages"] =>
  contents.map((content) => ({ role: "user", content }))

export const read = (task: Partial<RulesTask>): Extraction =>
  readConversation({ kinds: factKinds, messages: [], context: [], summary: undefined, conversationDate, ...task })

export const brief = ({ data, kind }: Candidate): string => {
  if (kind === "factual_memory") return `${String(data["subject"])}: ${String(data["fact"])}`
  if (kind === "preference_memory") {
    return `${String(data["subject"])} ${String(data["preferenceType"])}: ${String(data["preference"])}`
  }
  if (kind === "instruction_memory") return `instruction: ${String(data["text"])}`
  const end = data["endDate"] === undefined ? "" : ` to ${String(data["endDate"])}`
  return `${String(data["subject"])} @ ${String(data["eventDate"] ?? "no date")}${end}: ${String(data["event"])}`
}

export const briefs = (...contents: ReadonlyArray<string>): ReadonlyArray<string> =>
  read({ messages: said(...contents) }).candidates.map(brief)

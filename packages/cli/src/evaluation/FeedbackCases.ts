/**
 * Cases of an evaluation made of what callers said of memories (docs/eval.md): for each query the memories that were of
 * use. A query of which none was makes no case: the simple form does not say what must not be found.
 */
import type { Memory } from "@muniment/client/Muniment"
import type { QueryCase } from "./CaseFiles.ts"

type Judged = Pick<Memory, "feedback" | "id" | "metadata">

/** One for each query within an agent and a subject, in the order of the memories. */
export const casesOfFeedback = (memories: ReadonlyArray<Judged>): ReadonlyArray<QueryCase> => {
  const cases = new Map<string, QueryCase>()
  for (const { feedback = [], id, metadata } of memories) {
    const { agentId, subjectId } = metadata
    for (const { query, useful } of feedback) {
      if (query === undefined || !useful) continue
      const place = JSON.stringify([query, agentId, subjectId])
      const expected = [...(cases.get(place)?.expected ?? []), id]
      cases.set(place, { query, expected, ...named({ agentId, subjectId }) })
    }
  }
  return [...cases.values()]
}

const named = (fields: Readonly<Record<"agentId" | "subjectId", unknown>>): Pick<QueryCase, "agentId" | "subjectId"> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => typeof value === "string"))

/**
 * Four small sets of memories with the questions that thresholds were tuned on. `relevance` is what the
 * real server gave each memory for the question, in the order of the memories, with its default model.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import type { Evidence } from "@muniment/insight/answers/WrittenAnswer"

export interface WorldQuestion {
  readonly question: string
  /** Words that the answer must hold, in lower case; null: nothing answers it. */
  readonly expected: ReadonlyArray<string> | null
  readonly notExpected?: ReadonlyArray<string>
  readonly evidence: ReadonlyArray<Evidence>
}

interface World {
  readonly id: string
  readonly memories: ReadonlyArray<{ readonly kind: string; readonly data: object; readonly when?: string }>
  readonly questions: ReadonlyArray<Omit<WorldQuestion, "evidence"> & { readonly relevance: ReadonlyArray<number> }>
}

/** Evidence as a search gives it: best first, later memories are newer. */
export const worldQuestions = (): ReadonlyArray<WorldQuestion> => {
  const worlds = JSON.parse(readFileSync(join(import.meta.dirname, "worlds.json"), "utf8")) as ReadonlyArray<World>
  return worlds.flatMap(({ id, memories, questions }) =>
    questions.map(({ relevance, ...question }) => ({
      ...question,
      evidence: memories
        .map(({ kind, data, when }, at) => ({
          ...evidenceOf(`${id}-${at}`, kind, data),
          when,
          createdAt: at * 1_000,
          relevance: relevance[at] ?? 0
        }))
        .sort((left, right) => right.relevance - left.relevance || right.createdAt - left.createdAt)
    }))
  )
}

export const evidenceOf = (id: string, kind: string, data: object, createdAt = 0): Evidence => ({
  id,
  kind,
  data: data as Evidence["data"],
  createdAt,
  relevance: 0.5
})

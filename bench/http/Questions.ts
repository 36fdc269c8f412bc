/**
 * Questions with the texts that answer them: one a line, `question | name name ...`; lines that
 * begin with `#` are comments.
 */
import { readFileSync } from "node:fs"

export interface Question {
  readonly text: string
  /** Names of the texts any of which is a right answer. */
  readonly answers: ReadonlyArray<string>
}

export const readQuestions = (path: string): ReadonlyArray<Question> =>
  readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line.trim() !== "" && !line.startsWith("#"))
    .map((line) => {
      const [text = "", names = ""] = line.split("|").map((part) => part.trim())
      return { text, answers: names.split(/\s+/).filter((name) => name !== "") }
    })

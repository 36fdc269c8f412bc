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

/** Each question in several phrasings, phrasing by phrasing: texts that are not in the cache of query vectors. */
export const phrased = (questions: ReadonlyArray<Question>): ReadonlyArray<string> =>
  phrasings.flatMap((phrasing) => questions.map(({ text }) => `${phrasing}${text}?`))

const phrasings = [
  "",
  "I need ",
  "what is there for: ",
  "please find ",
  "is there ",
  "looking for ",
  "how about ",
  "recommend "
]

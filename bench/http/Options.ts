/** Command-line options of the service bench, and its help. */
import { parseArgs } from "node:util"
import { wholeNumber } from "../Usage.ts"
import { readTexts } from "./Corpus.ts"
import { questionsFile, type NamedText } from "./debianTexts.ts"
import { readQuestions, type Question } from "./Questions.ts"

export interface BenchOptions {
  readonly texts: ReadonlyArray<NamedText>
  readonly questions: ReadonlyArray<Question>
  readonly agents: number
  readonly inFlight: number
  readonly isIdempotent: boolean
  readonly rounds: number
  readonly minutesMax: number
  readonly skipsWords: boolean
  readonly keepDirectory: string | undefined
  readonly profileDirectory: string | undefined
}

const help = `node bench/http/run.ts --texts FILE [options]

Imports real texts into a real server over HTTP, asks it real questions, and prints what that costs.

  --texts FILE       JSONL of {"name", "text"}; bench/http/debianTexts.ts makes one
  --questions FILE   lines of "question | name name ..." (default bench/http/questions.txt)
  --count N          texts to import (20000)
  --agents N         agents the texts are spread over (1)
  --in-flight N      import requests under way at once (4)
  --idempotency      send every import request with an Idempotency-Key
  --rounds N         rounds of the questions with cached vectors (10)
  --no-words         leave out the import without a model, which shows the embedding's share
  --minutes N        give up after so long (30)
  --keep DIR         use and keep this data directory
  --cpu-prof DIR     write V8 processor profiles of the import and of the searches
  --help             this text
`

/** Undefined after the help was printed. */
export const readOptions = (): BenchOptions | undefined => {
  const { values } = parseArgs({
    options: {
      texts: { type: "string" },
      questions: { type: "string", default: questionsFile },
      count: { type: "string", default: "20000" },
      agents: { type: "string", default: "1" },
      "in-flight": { type: "string", default: "4" },
      idempotency: { type: "boolean", default: false },
      rounds: { type: "string", default: "10" },
      "no-words": { type: "boolean", default: false },
      minutes: { type: "string", default: "30" },
      keep: { type: "string" },
      "cpu-prof": { type: "string" },
      help: { type: "boolean", default: false }
    }
  })
  if (values.help || values.texts === undefined) {
    process.stdout.write(help)
    process.exitCode = values.help ? 0 : 1
    return undefined
  }
  const count = wholeNumber("count", values.count)
  const texts = readTexts(values.texts).slice(0, count)
  if (texts.length < count) throw new Error(`${values.texts} has ${texts.length} texts, --count asks for ${count}`)
  const names = new Set(texts.map(({ name }) => name))
  return {
    texts,
    questions: readQuestions(values.questions).map(({ text, answers }) => ({
      text,
      answers: answers.filter((name) => names.has(name))
    })),
    agents: wholeNumber("agents", values.agents),
    inFlight: wholeNumber("in-flight", values["in-flight"]),
    isIdempotent: values.idempotency,
    rounds: wholeNumber("rounds", values.rounds),
    minutesMax: wholeNumber("minutes", values.minutes),
    skipsWords: values["no-words"],
    keepDirectory: values.keep,
    profileDirectory: values["cpu-prof"]
  }
}

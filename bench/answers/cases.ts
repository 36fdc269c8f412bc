/**
 * A folder of cases, conversations with questions and with facts that a memory must hold or must never hold, sent to a
 * real server as an agent would: facts held, answers right and wrong, and the precision of each family of rules. The
 * server reads with the language model that the environment names, if it names one. `--help` names the options.
 */
import { layer as nodeServices } from "@effect/platform-node/NodeServices"
import { readFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { Muniment } from "@muniment/client/Muniment"
import { type Case, readCases } from "@muniment/cli/evaluation/CaseFiles"
import { states, type Extracted, type PlayedCase, playCase } from "@muniment/cli/evaluation/CasePlay"
import { partAsked } from "@muniment/language/question/AnswerPart"
import { Effect } from "effect"
import { answerHelp, wholeNumber } from "../Usage.ts"
import { openService } from "./Service.ts"

const usage = `node bench/answers/cases.ts --data DIR [--window N] [--step N] [--verdicts FILE] [--unread] [--url URL --key KEY]

  --data      folder of cases, one JSON file each: {id, user, asked, timeZone, messages, questions, facts}
  --window    messages of a request (10)
  --step      new ones among them (2); a model reads faster with more
  --verdicts  what a reader found of extracted memories: a JSON object, text to true or false
  --unread    prints the memories that neither a fact of the cases nor a reader judges
  --url       a running service instead of one started here; needs --key
  --key       the key to call it with`

interface Counts {
  right: number
  wrong: number
  open: number
}

const textOf = ({ data }: Extracted): string => JSON.stringify(data)

/** By the facts of its case; undefined: none speaks of it. */
const judgedBy = (one: Case, memory: Extracted): boolean | undefined => {
  const text = textOf(memory)
  const spoken = one.facts.filter((fact) => states(fact, one, text))
  return spoken.length === 0 ? undefined : spoken.every((fact) => fact.true)
}

const familyOf = ({ context, data, kind }: Extracted): string => {
  if (kind === "preference_memory") return String(data["preferenceType"])
  if (kind === "temporal_event") return "dated events"
  return context.tags?.[0] ?? "other facts"
}

const counted = (table: Map<string, Counts>, family: string, isTrue: boolean | undefined): void => {
  const counts = table.get(family) ?? { right: 0, wrong: 0, open: 0 }
  counts[isTrue === undefined ? "open" : isTrue ? "right" : "wrong"]++
  table.set(family, counts)
}

const totalsOf = ({ facts, questions, storeMillis }: PlayedCase) => {
  const answers = questions.flatMap(({ answer }) => answer ?? [])
  const countOf = (verdict: string) => answers.filter((answer) => answer.verdict === verdict).length
  return {
    true: facts.true,
    trueHeld: facts.held,
    false: facts.false,
    falseHeld: facts.falseHeld,
    right: countOf("right"),
    wrong: countOf("wrong"),
    withheld: countOf("withheld"),
    byModel: answers.filter(({ method }) => method === "model").length,
    readMillis: storeMillis,
    answerMillis: answers.reduce((sum, { millis }) => sum + millis, 0)
  }
}

type Totals = ReturnType<typeof totalsOf>

const lineOf = (name: string, played: ReadonlyArray<Totals>): string => {
  const sum = (what: keyof Totals) => played.reduce((total, one) => total + one[what], 0)
  const seconds = (what: keyof Totals) => `${(sum(what) / 1_000).toFixed(1)} s`
  return [
    `${name}: facts held ${sum("trueHeld")} of ${sum("true")}, false ones ${sum("falseHeld")} of ${sum("false")}`,
    `answers right ${sum("right")}, wrong ${sum("wrong")}, withheld ${sum("withheld")}, by a model ${sum("byModel")}`,
    `read in ${seconds("readMillis")}, answered in ${seconds("answerMillis")}`
  ].join("; ")
}

const tableOf = (heads: readonly [string, string, string, string], table: ReadonlyMap<string, Counts>): string => {
  const rows = [...table].toSorted(([, one], [, other]) => other.right + other.wrong - one.right - one.wrong)
  const lines = rows.map(([family, { open, right, wrong }]) => {
    const precision = right + wrong === 0 ? "-" : (right / (right + wrong)).toFixed(2)
    return `| ${family} | ${right} | ${wrong} | ${open} | ${precision} |`
  })
  return [`| ${heads.join(" | ")} | precision |`, "|---|---|---|---|---|", ...lines].join("\n")
}

/** A local model takes minutes for a request. */
const callMillisMax = 900_000

const main = async (): Promise<void> => {
  answerHelp(usage)
  const { values } = parseArgs({
    options: {
      data: { type: "string" },
      window: { type: "string", default: "10" },
      step: { type: "string", default: "2" },
      verdicts: { type: "string" },
      unread: { type: "boolean", default: false },
      url: { type: "string" },
      key: { type: "string" }
    }
  })
  if (values.data === undefined) throw new Error(`usage: ${usage}`)
  const { conversations: cases } = await Effect.runPromise(readCases(values.data).pipe(Effect.provide(nodeServices)))
  const verdicts: Readonly<Record<string, boolean>> =
    values.verdicts === undefined ? {} : JSON.parse(readFileSync(values.verdicts, "utf8"))
  const manner = {
    window: wholeNumber("window", values.window),
    step: wholeNumber("step", values.step),
    asksAnswers: true,
    keeps: false,
    run: Date.now().toString(36),
    onStep: () => Effect.void
  }
  const [extracted, answered] = [new Map<string, Counts>(), new Map<string, Counts>()]
  const totals: Array<Totals> = []
  const service = await openService(values.url, values.key)
  const muniment = new Muniment({ baseUrl: service.url, apiKey: service.key, timeoutMillis: callMillisMax })
  const configuration = { name: "", muniment, search: {}, create: {} }
  try {
    for (const one of cases) {
      const played = await Effect.runPromise(playCase(configuration, one, manner))
      for (const memory of played.memories) {
        const text = textOf(memory)
        const isTrue = verdicts[text] ?? judgedBy(one, memory)
        if (values.unread && isTrue === undefined) console.log(one.id, text)
        counted(extracted, familyOf(memory), isTrue)
      }
      for (const { answer, question } of played.questions) {
        const isTrue = answer?.verdict === "withheld" ? undefined : answer?.verdict === "right"
        counted(answered, partAsked(question.toLowerCase()), isTrue)
      }
      const own = totalsOf(played)
      totals.push(own)
      console.log(lineOf(one.id, [own]))
    }
  } finally {
    await service.stop()
  }
  const tables = [
    tableOf(["extracted", "true", "false", "not judged"], extracted),
    tableOf(["answers, by what is asked for", "right", "wrong", "withheld"], answered)
  ].join("\n\n")
  console.log(`${lineOf("all", totals)}\n\n${tables}`)
}

await main()

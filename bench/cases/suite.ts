/**
 * Conversations of our own with questions and facts (README.md), played by the code of `muniment eval` against a service
 * that is started here: what is found among the first hits, which answers are right, which facts are held.
 */
import { layer as nodeServices } from "@effect/platform-node/NodeServices"
import { join } from "node:path"
import { Muniment } from "@muniment/client/Muniment"
import { readCases } from "@muniment/cli/evaluation/CaseFiles"
import {
  type Evaluated,
  cellsOf,
  columns,
  evaluate,
  factsOf,
  figuresOf,
  groupsOf,
  questionsOf,
  totalsTable
} from "@muniment/cli/evaluation/EvalReport"
import { Effect } from "effect"
import { openService } from "../answers/Service.ts"
import { barChart } from "../kit/Chart.ts"
import { machineFacts } from "../kit/Machine.ts"
import type { ReportTable, SuiteOptions, SuiteReport } from "../kit/Report.ts"

const manner = { window: 10, step: 2, asksAnswers: true, keeps: false, onStep: () => Effect.void }

export const run = async ({ short }: SuiteOptions): Promise<SuiteReport> => {
  const machine = machineFacts()
  const part = short ? "open" : "held"
  const set = await Effect.runPromise(readCases(join(import.meta.dirname, part)).pipe(Effect.provide(nodeServices)))
  const service = await openService(undefined, undefined)
  try {
    const muniment = new Muniment({ baseUrl: service.url, apiKey: service.key })
    const configuration = { name: part, muniment, search: {}, create: {} }
    const own = { ...manner, run: "bench" }
    const [played] = await Effect.runPromise(evaluate(set, [configuration], own))
    return reportOf(played!, part, machine)
  } finally {
    await service.stop()
  }
}

const reportOf = (played: Evaluated, part: string, machine: SuiteReport["machine"]): SuiteReport => {
  const questions = questionsOf(played)
  const totals = figuresOf(questions)
  const facts = factsOf(played)
  const byType = groupsOf(questions, ({ type }) => type)
  const [head = [], row = []] = totalsTable([played])
  return {
    title: "Conversations of our own: what is found and answered",
    command: `npm run bench -- --suite cases${part === "held" ? " --long" : ""}`,
    machine,
    notes: [
      `${played.cases.length} conversations (\`bench/cases/${part}\`), each sent in windows of ${manner.window} messages, ${manner.step} of them new`,
      "hit@k: share of the evidence among the first k hits; held facts: stated by extracted memories"
    ],
    tables: [
      { title: "All", columns: head, rows: [row] },
      groupTable("By type of question", byType),
      groupTable(
        "By language",
        groupsOf(questions, (one) => one.case.split("-")[0]!)
      ),
      groupTable(
        "By conversation",
        groupsOf(questions, (one) => one.case)
      )
    ],
    goals: [],
    pictures: [
      barChart({
        name: "types",
        title: "Evidence among the first three hits, by type of question",
        value: { title: "hit@3", domain: [0, 1] },
        bars: byType.flatMap(([name, { hit3 }]) => (hit3 === undefined ? [] : [{ name, value: hit3 }]))
      })
    ],
    ratios: {
      [`${part}, hit@1`]: totals.hit1 ?? 0,
      [`${part}, hit@3`]: totals.hit3 ?? 0,
      [`${part}, hit@10`]: totals.hit10 ?? 0,
      [`${part}, MRR`]: totals.mrr ?? 0,
      [`${part}, evidence in context`]: totals.contextShare ?? 0,
      [`${part}, answers right by claimed`]: totals.right / Math.max(1, totals.right + totals.wrong),
      [`${part}, facts held`]: facts.held / Math.max(1, facts.true)
    }
  }
}

const groupTable = (title: string, groups: ReturnType<typeof groupsOf>): ReportTable => ({
  title,
  columns: ["", ...columns],
  rows: groups.map(([name, figures]) => [name, ...cellsOf(figures)])
})

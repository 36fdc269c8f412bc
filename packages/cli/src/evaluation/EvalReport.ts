/** An evaluation as Markdown, with one table for all configurations beside each other (pure). */
import { differencesOf, type Evaluated, factsOf, type Figures, figuresOf, groupsOf, questionsOf } from "./Figures.ts"
import { barPicture } from "./BarPicture.ts"
import type { PlayedQuestion } from "./CasePlay.ts"

export interface Report {
  readonly markdown: string
  /** File name -> SVG. */
  readonly pictures: Readonly<Record<string, string>>
}

/** Listed at most, of wrong answers and of differences. */
const listedMax = 50
const answerLengthMax = 200

export const columns = [
  "questions",
  "hit@1",
  "hit@3",
  "hit@10",
  "MRR",
  "right",
  "wrong",
  "withheld",
  "in context",
  "search p50, p95 ms"
]

export const cellsOf = (figures: Figures): ReadonlyArray<string> => [
  String(figures.questions),
  share(figures.hit1),
  share(figures.hit3),
  share(figures.hit10),
  share(figures.mrr),
  String(figures.right),
  String(figures.wrong),
  String(figures.withheld),
  share(figures.contextShare),
  `${millis(figures.searchMillis)}, ${millis(figures.searchMillis95)}`
]

export const totalsTable = (all: ReadonlyArray<Evaluated>): ReadonlyArray<ReadonlyArray<string>> => [
  ["configuration", ...columns, "answer p50 ms", "context tokens p50", "facts held", "false ones held"],
  ...all.map((one) => {
    const figures = figuresOf(questionsOf(one))
    const facts = factsOf(one)
    return [
      one.name,
      ...cellsOf(figures),
      millis(figures.answerMillis),
      figures.contextTokens === undefined ? "-" : String(figures.contextTokens),
      `${facts.held} of ${facts.true}`,
      `${facts.falseHeld} of ${facts.false}`
    ]
  })
]

export const reportOf = (
  all: ReadonlyArray<Evaluated>,
  head: { readonly cases: string; readonly day: string }
): Report => {
  const pictures = {
    "found.svg": barPicture("Evidence among the first hits", foundBars(all)),
    "types.svg": barPicture("Evidence among the first three hits, by type of question", typeBars(all))
  }
  const [first, ...others] = all
  return {
    pictures,
    markdown:
      [
        "# Evaluation",
        `${head.cases}, ${head.day}.`,
        markdownTable(totalsTable(all)),
        "hit@k is the share of what answers a question among its first k hits, MRR the mean of one divided by the place of the first of it. In context: share of the evidence in what POST /v1/context hands over. Held facts are those that extracted memories state.",
        ...Object.keys(pictures).map((name) => `![${name}](${name})`),
        ...all.flatMap((one) => sections(one, all.length > 1)),
        ...(first === undefined ? [] : others.flatMap((other) => differenceSection(first, other)))
      ].join("\n\n") + "\n"
  }
}

const sections = (one: Evaluated, isNamed: boolean): ReadonlyArray<string> => {
  const questions = questionsOf(one)
  const of = isNamed ? `, ${one.name}` : ""
  const grouped = (title: string, by: (question: PlayedQuestion) => string) =>
    `## By ${title}${of}\n\n${markdownTable([[title, ...columns], ...groupsOf(questions, by).map(([name, figures]) => [name, ...cellsOf(figures)])])}`
  const wrong = questions.filter(({ answer }) => answer?.verdict === "wrong")
  return [
    grouped("type", ({ type }) => type),
    grouped("case", (question) => question.case),
    ...(wrong.length === 0
      ? []
      : [`## Wrong answers${of}\n\n${listed(wrong.map((one) => `${one.case}: ${one.question} ${shortened(one)}`))}`])
  ]
}

const shortened = ({ answer }: PlayedQuestion): string => `"${(answer?.text ?? "").slice(0, answerLengthMax)}"`

const differenceSection = (one: Evaluated, other: Evaluated): ReadonlyArray<string> => {
  const differences = differencesOf(one, other)
  const better = differences.filter(({ isBetter }) => isBetter)
  const worse = differences.filter(({ isBetter }) => !isBetter)
  const lines = (some: typeof differences) =>
    listed(some.map(({ after, before, question, ...said }) => `${said.case}: ${question} (${before}, then ${after})`))
  return [
    `## ${one.name}, then ${other.name}: ${better.length} better, ${worse.length} worse`,
    ...(better.length === 0 ? [] : [`Better:\n\n${lines(better)}`]),
    ...(worse.length === 0 ? [] : [`Worse:\n\n${lines(worse)}`])
  ]
}

const listed = (lines: ReadonlyArray<string>): string => {
  const left = lines.length - listedMax
  const shown = lines.slice(0, listedMax).map((line) => `- ${line.replace(/\s+/g, " ")}`)
  return [...shown, ...(left > 0 ? [`- and ${left} more`] : [])].join("\n")
}

const foundBars = (all: ReadonlyArray<Evaluated>) =>
  (["hit1", "hit3", "hit10"] as const).map((name) => ({
    name: name.replace("hit", "hit@"),
    values: all.map((one) => ({ group: one.name, value: figuresOf(questionsOf(one))[name] ?? 0 }))
  }))

const typeBars = (all: ReadonlyArray<Evaluated>) => {
  const byType = all.map((one) => ({ name: one.name, groups: new Map(groupsOf(questionsOf(one), ({ type }) => type)) }))
  const types = [...new Set(byType.flatMap(({ groups }) => [...groups.keys()]))]
  return types
    .filter((type) => byType.some(({ groups }) => groups.get(type)?.hit3 !== undefined))
    .map((type) => ({
      name: type,
      values: byType.map(({ groups, name }) => ({ group: name, value: groups.get(type)?.hit3 ?? 0 }))
    }))
}

const share = (value: number | undefined): string => (value === undefined ? "-" : value.toFixed(3))
const millis = (value: number | undefined): string => (value === undefined ? "-" : value.toFixed(value < 10 ? 1 : 0))

const markdownTable = ([head = [], ...rows]: ReadonlyArray<ReadonlyArray<string>>): string =>
  [head, head.map(() => "---"), ...rows].map((row) => `| ${row.map(cell).join(" | ")} |`).join("\n")

const cell = (text: string): string => text.replaceAll("|", "\\|")

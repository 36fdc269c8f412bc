/**
 * An evaluation as Markdown, with one table for all configurations beside each other, and its pictures as SVG (pure).
 * Bars are shares from 0 to 1.
 */
import { Effect } from "effect"
import type { CaseSet } from "./CaseFiles.ts"
import {
  type Configuration,
  type Manner,
  type PlayedCase,
  type PlayedQuestion,
  playCase,
  playQuery
} from "./CasePlay.ts"

interface Report {
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

interface Bars {
  readonly name: string
  readonly values: ReadonlyArray<{ readonly group: string; readonly value: number }>
}

const colours = ["#4c78a8", "#f58518", "#54a24b", "#e45756", "#72b7b2", "#b279a2"] as const
const layout = { width: 760, left: 140, right: 60, top: 48, bar: 16, gap: 10 } as const

/** Horizontal bars of shares from 0 to 1 as SVG, one for each configuration, with their values at the end. */
const barPicture = (title: string, bars: ReadonlyArray<Bars>): string => {
  const groups = [...new Set(bars.flatMap(({ values }) => values.map(({ group }) => group)))]
  const legendHeight = groups.length > 1 ? groups.length * layout.bar + layout.gap : 0
  const blocks = bars.map((one) => one.values.length * layout.bar + layout.gap)
  const height = layout.top + legendHeight + blocks.reduce((sum, block) => sum + block, 0) + layout.gap
  const legend =
    groups.length > 1 ? groups.map((group, at) => legendEntry(group, at, layout.top + at * layout.bar)) : []
  let top = layout.top + legendHeight
  const drawn = bars.map((one, at) => {
    const block = barsAt(one, groups, top)
    top += blocks[at]!
    return block
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${layout.width}" height="${height}" font-family="sans-serif" font-size="12">`,
    `<rect width="100%" height="100%" fill="white"/>`,
    `<text x="12" y="26" font-size="15" font-weight="bold">${escaped(title)}</text>`,
    ...legend,
    ...drawn,
    "</svg>\n"
  ].join("\n")
}

const barsAt = ({ name, values }: Bars, groups: ReadonlyArray<string>, top: number): string => {
  const full = layout.width - layout.left - layout.right
  const middle = top + (values.length * layout.bar) / 2 + 4
  const rects = values.map(({ group, value }, at) => {
    const y = top + at * layout.bar
    const width = Math.round(full * Math.max(0, Math.min(1, value)))
    const bar = `<rect x="${layout.left}" y="${y}" width="${width}" height="${layout.bar - 2}" fill="${colourOf(groups.indexOf(group))}"/>`
    return `${bar}<text x="${layout.left + width + 4}" y="${y + 11}">${value.toFixed(3)}</text>`
  })
  return `<text x="${layout.left - 8}" y="${middle}" text-anchor="end">${escaped(name)}</text>${rects.join("")}`
}

const legendEntry = (group: string, at: number, y: number): string =>
  `<rect x="12" y="${y}" width="10" height="10" fill="${colourOf(at)}"/><text x="28" y="${y + 10}">${escaped(group)}</text>`

const colourOf = (at: number): string => colours[at % colours.length]!

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;")

/** Results of one configuration. */
export interface Evaluated {
  readonly name: string
  readonly cases: ReadonlyArray<PlayedCase>
  readonly queries: ReadonlyArray<PlayedQuestion>
}

/** Figures of played cases: evidence among the first hits, answers, facts, latency; and two configurations compared. */
interface Figures {
  readonly questions: number
  /** Means over the questions with something to find; undefined without any. */
  readonly hit1: number | undefined
  readonly hit3: number | undefined
  readonly hit10: number | undefined
  readonly mrr: number | undefined
  readonly right: number
  readonly wrong: number
  readonly withheld: number
  readonly searchMillis: number | undefined
  readonly searchMillis95: number | undefined
  readonly answerMillis: number | undefined
  /** Tokens of contexts at the median, and the mean share of the evidence in them. */
  readonly contextTokens: number | undefined
  readonly contextShare: number | undefined
}

export const questionsOf = ({ cases, queries }: Evaluated): ReadonlyArray<PlayedQuestion> => [
  ...cases.flatMap(({ questions }) => questions),
  ...queries
]

export const figuresOf = (questions: ReadonlyArray<PlayedQuestion>): Figures => {
  const found = questions.flatMap((one) => one.found ?? [])
  const answers = questions.flatMap(({ answer }) => answer ?? [])
  const count = (verdict: string) => answers.filter((answer) => answer.verdict === verdict).length
  const searches = questions.map(({ searchMillis }) => searchMillis)
  return {
    questions: questions.length,
    hit1: mean(found.map(({ shares }) => shares[0])),
    hit3: mean(found.map(({ shares }) => shares[1])),
    hit10: mean(found.map(({ shares }) => shares[2])),
    mrr: mean(found.map(({ reciprocalRank }) => reciprocalRank)),
    right: count("right"),
    wrong: count("wrong"),
    withheld: count("withheld"),
    searchMillis: quantile(searches, 0.5),
    searchMillis95: quantile(searches, 0.95),
    answerMillis: quantile(
      answers.map(({ millis }) => millis),
      0.5
    ),
    contextTokens: quantile(
      questions.flatMap(({ context }) => context?.tokens ?? []),
      0.5
    ),
    contextShare: mean(questions.flatMap(({ context }) => context?.share ?? []))
  }
}

export const factsOf = ({ cases }: Evaluated): PlayedCase["facts"] => {
  const sum = (of: (facts: PlayedCase["facts"]) => number) => cases.reduce((total, { facts }) => total + of(facts), 0)
  return {
    true: sum((facts) => facts.true),
    held: sum(({ held }) => held),
    false: sum((facts) => facts.false),
    falseHeld: sum(({ falseHeld }) => falseHeld)
  }
}

/** Questions in groups by what `of` says, each with its figures. */
export const groupsOf = (
  questions: ReadonlyArray<PlayedQuestion>,
  of: (question: PlayedQuestion) => string
): ReadonlyArray<readonly [string, Figures]> =>
  [...Map.groupBy(questions, of)].map(([name, group]) => [name, figuresOf(group)] as const)

interface Difference {
  readonly question: string
  readonly case: string
  /** Result of the configuration before and of the other: places of the evidence, or verdicts. */
  readonly before: string
  readonly after: string
  readonly isBetter: boolean
}

/** Questions whose first evidence moved into or out of the first three hits, or whose verdict changed. */
const differencesOf = (one: Evaluated, other: Evaluated): ReadonlyArray<Difference> => {
  const others = new Map(questionsOf(other).map((question) => [keyOf(question), question]))
  return questionsOf(one).flatMap((before) => {
    const after = others.get(keyOf(before))
    if (after === undefined) return []
    const said = { question: before.question, case: before.case }
    const [was, is] = [before.answer?.verdict, after.answer?.verdict]
    if (was !== undefined && is !== undefined && was !== is) {
      return [{ ...said, before: was, after: is, isBetter: verdictValue[is] > verdictValue[was] }]
    }
    const [rankBefore, rankAfter] = [placeOf(before), placeOf(after)]
    if (rankBefore <= shownHits === rankAfter <= shownHits) return []
    return [{ ...said, before: placeText(rankBefore), after: placeText(rankAfter), isBetter: rankAfter < rankBefore }]
  })
}

const shownHits = 3
const verdictValue = { wrong: 0, withheld: 1, right: 2 } as const
const keyOf = (question: PlayedQuestion): string => `${question.case}\n${question.question}`
const placeOf = ({ found }: PlayedQuestion): number =>
  found === undefined || found.reciprocalRank === 0 ? Infinity : Math.round(1 / found.reciprocalRank)
const placeText = (place: number): string => (place === Infinity ? "not found" : `place ${place}`)

const mean = (values: ReadonlyArray<number>): number | undefined =>
  values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0) / values.length

const quantile = (values: ReadonlyArray<number>, share: number): number | undefined =>
  values.toSorted((left, right) => left - right)[Math.min(values.length - 1, Math.floor(share * values.length))]

/** All cases against each configuration in turn, so that one is not asked in a quieter hour than the other. */
export const evaluate = Effect.fn("evaluate")(function* (
  { conversations, queries }: CaseSet,
  configurations: ReadonlyArray<Configuration>,
  manner: Manner
) {
  const played = configurations.map(({ name }) => ({
    name,
    cases: new Array<PlayedCase>(),
    queries: new Array<PlayedQuestion>()
  }))
  for (const one of conversations) {
    for (const [at, configuration] of configurations.entries()) {
      const own = { ...manner, run: `${manner.run}-${at + 1}` }
      played[at]!.cases.push(yield* playCase(configuration, one, own))
    }
  }
  for (const query of queries) {
    for (const [at, configuration] of configurations.entries()) {
      played[at]!.queries.push(yield* playQuery(configuration, query, manner))
    }
  }
  return played satisfies ReadonlyArray<Evaluated>
})

/** How often `Manner.onStep` is called in a run. */
export const stepsOf = ({ conversations, queries }: CaseSet, configurations: number): number =>
  configurations * (queries.length + conversations.reduce((sum, { questions }) => sum + questions.length, 0))

/**
 * Report of a suite, and how it is written: `bench/results/<name>.md` with every table, goal and picture,
 * `<name>-<picture>.svg`, and on request the baseline `<name>.json`.
 *
 * A suite is `bench/<suite>/suite.ts` with `export const run = (options: SuiteOptions) =>
 * Promise<SuiteReport>`; `bench/run.ts` calls it in a process of its own, so a report is plain data.
 * Figures are ratios against a peer in the same run; `ratios` are those that `--check` watches.
 */
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { type Picture, renderPicture } from "./Chart.ts"
import { type MachineFacts, machineText } from "./Machine.ts"

export interface SuiteOptions {
  /** Within a few minutes: small sizes, few rounds. */
  readonly short: boolean
  /** Folder with data that is not part of the project (LoCoMo); undefined without one. */
  readonly data: string | undefined
}

export interface SuiteReport {
  readonly title: string
  /** The line that repeats this very run. */
  readonly command: string
  readonly machine: MachineFacts
  /** What a reader must know: the data, peers that were left out and why. */
  readonly notes: ReadonlyArray<string>
  readonly tables: ReadonlyArray<ReportTable>
  readonly goals: ReadonlyArray<Goal>
  readonly pictures: ReadonlyArray<Picture>
  /** Name -> ratio, larger is better; the name says what against what, and at which size. */
  readonly ratios: Readonly<Record<string, number>>
  /** What this machine cannot measure: ratios whose names contain `part` may be missing. */
  readonly unavailable?: ReadonlyArray<Unavailable>
}

export interface Unavailable {
  readonly part: string
  /** Such as data that was not given, or a peer that does not run here. */
  readonly reason: string
}

export interface ReportTable {
  readonly title: string
  /** A table of two is written as a list. */
  readonly columns: ReadonlyArray<string>
  /** Numbers are printed with three significant digits. */
  readonly rows: ReadonlyArray<ReadonlyArray<string | number>>
  readonly note?: string
}

export interface Goal {
  readonly name: string
  readonly bound: "at least" | "at most"
  readonly wanted: number
  /** Undefined when this run did not measure it. */
  readonly found: number | undefined
  /** "x" for ratios, else the unit: "ms". */
  readonly unit: string
  readonly note?: string
}

export type Verdict = "met" | "missed" | "not measured"

export const verdictOf = ({ bound, wanted, found }: Goal): Verdict => {
  if (found === undefined || Number.isNaN(found)) return "not measured"
  return (bound === "at least" ? found >= wanted : found <= wanted) ? "met" : "missed"
}

export const resultsDirectory = join(import.meta.dirname, "..", "results")

/** `name` is the suite's, or `<suite>-long`; gives back the paths that were written. */
export const writeReport = async (
  name: string,
  report: SuiteReport,
  { directory = resultsDirectory, when }: { readonly directory?: string; readonly when: Date }
): Promise<ReadonlyArray<string>> => {
  await mkdir(directory, { recursive: true })
  const written: Array<string> = []
  const links: Array<string> = []
  for (const picture of report.pictures) {
    const file = `${name}-${picture.name}.svg`
    const rendered = await renderPicture(picture)
    if ("reason" in rendered) links.push(`(no picture "${picture.title}": ${rendered.reason})`)
    else {
      await writeFile(join(directory, file), rendered.svg)
      written.push(join(directory, file))
      links.push(`![${picture.title}](${file})`)
    }
  }
  const text = join(directory, `${name}.md`)
  await writeFile(text, reportText(report, when, links))
  return [text, ...written]
}

/** The report as Markdown; `links` are the lines that show its pictures. */
export const reportText = (report: SuiteReport, when: Date, links: ReadonlyArray<string>): string =>
  [
    `# ${report.title}`,
    `\`${report.command}\`, ${when.toISOString().slice(0, 10)}. ${machineText(report.machine)}.`,
    ...(report.notes.length === 0 ? [] : [report.notes.map((note) => `- ${note}`).join("\n")]),
    ...(report.goals.length === 0 ? [] : [`## Goals\n\n${measuredGoals(report.goals)}`]),
    ...(links.length === 0 ? [] : [links.join("\n\n")]),
    ...report.tables.map(tableSection)
  ].join("\n\n") + "\n"

const tableSection = ({ title, columns, rows, note }: ReportTable): string =>
  `## ${title}\n\n${columns.length === 2 ? listText(rows) : tableText(columns, rows)}${note === undefined ? "" : `\n\n${note}`}`

/** A report covers some sizes of a suite: goals of the others are only counted, unless their note says why. */
const measuredGoals = (goals: ReadonlyArray<Goal>): string => {
  const shown = goals.filter((goal) => verdictOf(goal) !== "not measured" || (goal.note ?? "") !== "")
  const left = goals.length - shown.length
  return [
    ...(shown.length === 0 ? [] : [goalsText(shown)]),
    ...(left === 0 ? [] : [`Not measured in this run: ${left} other goals of the suite.`])
  ].join("\n\n")
}

/** A line for each goal: its verdict, what was found and wanted, its note. */
export const goalsText = (goals: ReadonlyArray<Goal>): string =>
  goals
    .map((goal) => {
      const { bound, found, name, note = "", unit, wanted } = goal
      const measured = found === undefined ? "" : `${figure(found)} ${unit}`.trimEnd() + ", "
      const suffix = note === "" ? "" : ` (${note})`
      return `- ${verdictOf(goal)}: ${name}: ${measured}wanted ${`${bound} ${wanted} ${unit}`.trimEnd()}${suffix}`
    })
    .join("\n")

/** Rows of two columns: a name and its value. */
const listText = (rows: ReportTable["rows"]): string =>
  rows.map(([name = "", value = ""]) => `- ${name}: ${cellText(value)}`).join("\n")

export const tableText = (
  columns: ReadonlyArray<string>,
  rows: ReadonlyArray<ReadonlyArray<string | number>>
): string => [tableLine(columns), `|${"---|".repeat(columns.length)}`, ...rows.map(tableLine)].join("\n")

const tableLine = (row: ReadonlyArray<string | number>): string => `|${row.map(cellText).join("|")}|`

const cellText = (cell: string | number): string => (typeof cell === "number" ? figure(cell) : cell)

/** Three significant digits, thousands set apart: 0.0512, 12.3, 48,200. */
export const figure = (value: number): string => {
  if (!Number.isFinite(value)) return "-"
  return Math.abs(value) >= wholeFrom
    ? Number(value.toPrecision(significantDigits)).toLocaleString("en-US")
    : String(Number(value.toPrecision(significantDigits)))
}

const significantDigits = 3
const wholeFrom = 1_000

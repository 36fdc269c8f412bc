/**
 * Attacks and crowds on a running service: attacks one after the other, then overload, arrivals at multiples of the
 * capacity that do not wait for answers.
 *
 * `npm run bench -- --suite abuse`, or this file itself (`--help`), also against a service that runs already.
 */
import { parseArgs } from "node:util"
import { machineFacts } from "../kit/Machine.ts"
import { type Goal, goalsText, type SuiteOptions, type SuiteReport, tableText, verdictOf } from "../kit/Report.ts"
import { answerHelp, wholeNumber } from "../Usage.ts"
import { givenService, onOwnService } from "./AttackedService.ts"
import { bodiesOfOne, bodiesOfSeveral } from "./attacks/bodies.ts"
import { gasGriefing } from "./attacks/gas.ts"
import { modelStall } from "./attacks/model.ts"
import { schemaStall } from "./attacks/schemas.ts"
import { signatureFlood } from "./attacks/signatures.ts"
import { typoMatrix } from "./attacks/typos.ts"
import { unfinishedRequests } from "./attacks/unfinished.ts"
import { pipelinedRequests, unreadAnswers } from "./attacks/unread.ts"
import { signUpFlood } from "./attacks/wallets.ts"
import type { Attack, Field } from "./Field.ts"
import { overload, type OverloadResult } from "./Overload.ts"
import { overloadGoals, overloadTable } from "./OverloadReport.ts"
import { Wire } from "./Wire.ts"
import { kindsOfWork, type KindOfWork, seeds } from "./Work.ts"

/** Bodies first, while the heap is small. */
const attacks: ReadonlyArray<Attack> = [
  bodiesOfOne,
  bodiesOfSeveral,
  signUpFlood,
  typoMatrix,
  schemaStall,
  modelStall,
  signatureFlood,
  unfinishedRequests,
  unreadAnswers,
  pipelinedRequests,
  gasGriefing
]

const usage = `node bench/abuse/suite.ts [options]
  --attack NAME   only this one of ${attacks.map(({ name }) => name).join(", ")}; may be repeated; none leaves them out
  --work NAME     overload by this one of ${kindsOfWork.join(", ")}; may be repeated; none leaves it out
  --factors LIST  arrivals by capacity (1,2,5)
  --seconds N     of each flood (30)
  --model NAME    embedding model of the service that is started (auto; none searches by words)
  --profile DIR   folder for a V8 processor profile of the service that is started
  --url URL       a running service, with --key and --second-key of two accounts on plan owner; attacks that need
                  its operator are left out
  --check         exit code 1 if a goal is missed`

interface Course {
  readonly attacks: ReadonlyArray<Attack>
  readonly kinds: ReadonlyArray<KindOfWork>
  readonly factors: ReadonlyArray<number>
  readonly seconds: number
  readonly command: string
}

const shortSeconds = { flood: 8, attack: 5 }
const longSeconds = { flood: 30, attack: 20 }
const calmSecondsOf = (seconds: number): number => Math.min(10, Math.max(3, seconds / 3))

export const run = ({ short }: SuiteOptions): Promise<SuiteReport> => {
  const { attack, flood } = short ? shortSeconds : longSeconds
  const command = `npm run bench -- --suite abuse${short ? "" : " --long"}`
  const factors = short ? [5] : [1, 2, 5]
  return onOwnService({ environment: {}, seconds: attack }, (field) =>
    taken(field, { attacks, kinds: kindsOfWork, factors, seconds: flood, command })
  )
}

interface Outcome {
  readonly attack: Attack
  readonly said: string
  readonly goals: ReadonlyArray<Goal>
}

const taken = async (field: Field, course: Course): Promise<SuiteReport> => {
  const machine = machineFacts()
  const outcomes: Array<Outcome> = []
  for (const attack of course.attacks) {
    process.stderr.write(`${attack.name} ...\n`)
    const finding = await attack.run(field)
    outcomes.push({ attack, ...(finding ?? { said: "needs a service of the suite's own", goals: [] }) })
  }
  const results = await overloads(field, course)
  return reportOf(outcomes, results, course, machine)
}

const overloads = async (field: Field, { factors, kinds, seconds }: Course): Promise<ReadonlyArray<OverloadResult>> => {
  const { attackerKey: noisyKey, target, victimKey: quietKey, view } = field
  if (kinds.length > 0) await seed(field)
  const results: Array<OverloadResult> = []
  for (const kind of kinds) {
    process.stderr.write(`overload: ${kind} ...\n`)
    const calmSeconds = calmSecondsOf(seconds)
    results.push(await overload(kind, { target, view, noisyKey, quietKey, factors, seconds, calmSeconds }))
  }
  return results
}

const seed = async ({ attackerKey, target, victimKey }: Field): Promise<void> => {
  const wire = new Wire(target, 1)
  for (const key of [attackerKey, victimKey]) {
    for (const bytes of seeds(target, key)) {
      const { status } = await wire.send(bytes)
      if (status !== 200) throw new Error(`seeding answered ${status}`)
    }
  }
  wire.close()
}

const reportOf = (
  outcomes: ReadonlyArray<Outcome>,
  results: ReadonlyArray<OverloadResult>,
  { command, factors, seconds }: Course,
  machine: SuiteReport["machine"]
): SuiteReport => ({
  title: "Abuse",
  command,
  machine,
  notes: [
    "The load runs on this machine's last processor, the service on all others. Times count from the writing of a request; `generator's lag` is how late it was written, `starved` the share of the time in which the service's main thread was ready and had no processor. High ones say that the machine was too small or busy, not the service.",
    `Capacity is the best of five closed loops; goodput counts both accounts. Floods of one account arrive evenly for ${seconds} s and wait for no answer. Beside them a second account sends a tenth of its half; its idle p99 was measured alone at the same rate. Times in milliseconds.`
  ],
  tables: [
    ...(outcomes.length === 0 ? [] : [attackTable(outcomes)]),
    ...(results.length === 0 ? [] : [overloadTable(results)])
  ],
  goals: [
    ...outcomes.flatMap(({ goals }) => goals),
    ...results.flatMap((result) => overloadGoals(result, Math.max(...factors)))
  ],
  pictures: [],
  ratios: Object.fromEntries(
    results.flatMap(({ kind, rounds }) =>
      rounds.map(({ factor, goodput }) => [`${kind}: goodput at ${factor} by capacity`, goodput])
    )
  )
})

const attackTable = (outcomes: ReadonlyArray<Outcome>): SuiteReport["tables"][number] => ({
  title: "Attacks",
  columns: ["attack", "what it does", "answers"],
  rows: outcomes.map(({ attack: { name, title }, said }) => [name, title, said])
})

const main = async (): Promise<void> => {
  answerHelp(usage)
  const { values } = parseArgs({
    options: {
      attack: { type: "string", multiple: true, default: attacks.map(({ name }) => name) },
      work: { type: "string", multiple: true, default: [...kindsOfWork] },
      factors: { type: "string", default: "1,2,5" },
      seconds: { type: "string", default: "30" },
      model: { type: "string", default: "auto" },
      profile: { type: "string" },
      url: { type: "string" },
      key: { type: "string" },
      "second-key": { type: "string" },
      check: { type: "boolean", default: false }
    }
  })
  const seconds = wholeNumber("seconds", values.seconds)
  const course: Course = {
    attacks: attacks.filter(({ name }) => values.attack.includes(name)),
    kinds: kindsOfWork.filter((kind) => values.work.includes(kind)),
    factors: values.factors.split(",").map(Number),
    seconds,
    command: "node bench/abuse/suite.ts"
  }
  const { key, model, profile: profileDirectory, url } = values
  const environment = { MUNIMENT_EMBEDDING_MODEL: model }
  const report =
    url === undefined
      ? await onOwnService({ environment, seconds, profileDirectory }, (field) => taken(field, course))
      : await taken(givenService(url, key, values["second-key"], seconds), course)
  for (const { columns, rows } of report.tables) process.stdout.write(`${tableText(columns, rows)}\n\n`)
  process.stdout.write(`${goalsText(report.goals)}\n`)
  if (values.check && report.goals.some((goal) => verdictOf(goal) === "missed")) process.exitCode = 1
}

if (import.meta.main) await main()

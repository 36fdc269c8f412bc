/**
 * `muniment eval`: plays cases against a service, or against two configurations side by side, and writes a report.
 * What it stores has agents of its own and is removed afterwards.
 */
import { Clock, Console, Effect, FileSystem, Option, Path } from "effect"
import { Command, Flag } from "effect/cli"
import { Muniment } from "@muniment/client/Muniment"
import { CommandFailed } from "../CommandFailed.ts"
import { readCases } from "../evaluation/CaseFiles.ts"
import type { Configuration } from "../evaluation/CasePlay.ts"
import { evaluate, reportOf, stepsOf, totalsTable } from "../evaluation/EvalReport.ts"
import { pathFlag } from "../InputFile.ts"
import { originOf, servicePlace, setting } from "../ServiceUrl.ts"
import { makeProgress, table } from "../Terminal.ts"
import { flags } from "./flags.ts"

/** A local model may take minutes to read a window. */
const callMillisMax = 900_000

/** Parameters that `--vary` can give two values, and which requests have them. */
const varied: Readonly<Record<string, "search" | "create">> = { recall: "search", remember: "create" }

const whole = (name: string, standard: number, description: string) =>
  Flag.Int(name).pipe(
    Flag.withDescription(description),
    Flag.withDefault(standard),
    Flag.filter(
      (value) => value >= 1,
      () => `--${name} is a whole number of at least 1`
    )
  )

export const evalCases = Command.make(
  "eval",
  {
    cases: pathFlag("cases", "File of cases (JSON or JSONL), or a folder of them"),
    against: Flag.String("against").pipe(
      Flag.withDescription("URL of the service; twice for two side by side; default as other commands find theirs"),
      Flag.atLeast(0)
    ),
    apiKey: Flag.String("api-key").pipe(
      Flag.withDescription("API key, else MUNIMENT_API_KEY or the profile's; twice for two services with their own"),
      Flag.atLeast(0)
    ),
    vary: Flag.String("vary").pipe(
      Flag.withDescription("Compare values of a parameter: recall=fast,strict or remember=messages,extracted"),
      Flag.optional
    ),
    out: pathFlag("out", "Folder that the report is written to").pipe(Flag.withDefault("eval-report")),
    window: whole("window", 10, "Messages of a request that stores"),
    step: whole("step", 2, "New ones among them; a language model reads faster with more"),
    noAnswers: Flag.Boolean("no-answers").pipe(
      Flag.withDescription("Only search: leave out mode=answer, which a language model may write"),
      Flag.withDefault(false)
    ),
    keep: Flag.Boolean("keep").pipe(
      Flag.withDescription("Leave in the service what was stored for the cases"),
      Flag.withDefault(false)
    ),
    json: flags.json
  },
  Effect.fn("eval")(function* ({ against, apiKey, cases, json, keep, noAnswers, out, step, vary, window }) {
    const set = yield* readCases(cases)
    const configurations = yield* configurationsOf(yield* servicesOf(against, apiKey), vary)
    const nowMillis = yield* Clock.currentTimeMillis
    const results = yield* Effect.scoped(
      Effect.gen(function* () {
        const progress = yield* makeProgress("Evaluating")
        const total = stepsOf(set, configurations.length)
        let done = 0
        return yield* evaluate(set, configurations, {
          window,
          step: Math.min(step, window),
          asksAnswers: !noAnswers,
          keeps: keep,
          run: nowMillis.toString(36),
          onStep: (what) => Effect.suspend(() => progress.update(done++, total, what))
        })
      })
    )
    const files = yield* writeReport(out, results, cases, nowMillis)
    if (json) return yield* Console.log(JSON.stringify({ files, configurations: results }))
    yield* Console.log(table(totalsTable(results)))
    return yield* Console.error(`Written: ${files.join(", ")}`)
  })
).pipe(
  Command.withDescription("Judge searches and answers of a service by cases: what is found, right and wrong, how fast"),
  Command.withExamples([
    {
      command: "muniment eval --cases cases --against http://localhost:8787",
      description: "A folder of conversations with questions; the report goes to eval-report"
    },
    {
      command: "muniment eval --cases queries.jsonl --vary recall=fast,strict",
      description: "Queries with what they should find, in two configurations side by side"
    },
    {
      command: "muniment eval --cases cases --against http://localhost:8787 --against http://localhost:8788",
      description: "Two services, as of two models or two settings"
    }
  ])
)

interface Service {
  readonly url: string
  readonly apiKey: string
}

const servicesOf = Effect.fnUntraced(function* (against: ReadonlyArray<string>, keys: ReadonlyArray<string>) {
  if (keys.length > 1 && keys.length !== against.length) {
    return yield* new CommandFailed({ reason: "Give one --api-key for all, or one for each --against." })
  }
  const kept = yield* setting("MUNIMENT_API_KEY")
  const place = against.length === 0 ? yield* servicePlace(Option.none()) : undefined
  const urls = place === undefined ? against : [place.url]
  const services: Array<Service> = []
  for (const [at, url] of urls.entries()) {
    const apiKey = keys[at] ?? keys[0] ?? kept ?? place?.apiKey
    if (apiKey === undefined) {
      return yield* new CommandFailed({
        reason: "No account: set MUNIMENT_API_KEY, save a profile, or give --api-key."
      })
    }
    services.push({ url: yield* originOf(url), apiKey })
  }
  return services
})

const configurationsOf = Effect.fnUntraced(function* (services: ReadonlyArray<Service>, vary: Option.Option<string>) {
  const plain = { search: {}, create: {} }
  const values = Option.isNone(vary) ? [{ name: "", ...plain }] : yield* valuesOf(vary.value)
  return services.flatMap(({ apiKey, url }, at): ReadonlyArray<Configuration> => {
    const muniment = new Muniment({ baseUrl: url, apiKey, timeoutMillis: callMillisMax, patienceMillis: callMillisMax })
    const isTwice = services.filter((other) => other.url === url).length > 1
    const service = services.length === 1 ? "" : isTwice ? `${url} (${at + 1})` : url
    return values.map(({ create, name, search }) => ({
      name: [service, name].filter((part) => part !== "").join(", ") || url,
      muniment,
      search,
      create
    }))
  })
})

const valuesOf = Effect.fnUntraced(function* (vary: string) {
  const [parameter = "", list = ""] = vary.split("=")
  const where = varied[parameter]
  const values = list.split(",").filter((value) => value !== "")
  if (where === undefined || values.length < 2) {
    const names = Object.keys(varied).join(" or ")
    return yield* new CommandFailed({
      reason: `--vary is ${names} with two values or more, such as recall=fast,strict. For what a service is configured with, as weights or a model, start two and give --against twice.`
    })
  }
  return values.map((value) => {
    const given = { [parameter]: value }
    return {
      name: `${parameter}=${value}`,
      search: where === "search" ? given : {},
      create: where === "create" ? given : {}
    }
  })
})

const writeReport = Effect.fnUntraced(function* (
  folder: string,
  results: Effect.Success<ReturnType<typeof evaluate>>,
  cases: string,
  nowMillis: number
) {
  const [files, path] = [yield* FileSystem.FileSystem, yield* Path.Path]
  const day = new Date(nowMillis).toISOString().slice(0, 10)
  const { markdown, pictures } = reportOf(results, { cases: `Cases of ${path.basename(cases)}`, day })
  const texts = { "report.md": markdown, "report.json": `${JSON.stringify(results)}\n`, ...pictures }
  yield* files.makeDirectory(folder, { recursive: true })
  const written: Array<string> = []
  for (const [name, text] of Object.entries(texts)) {
    const file = path.join(folder, name)
    yield* files.writeFileString(file, text)
    written.push(file)
  }
  return written
})

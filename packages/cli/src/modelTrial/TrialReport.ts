/**
 * A trial of a language model as a person reads it, and the language models that run on this machine to choose one
 * from.
 */
import { Context, Effect } from "effect"
import { layerNodeHttp } from "@effect/platform-node/NodeHttpClient"
import { type ServerAbilities, type ServerListing, serverListing } from "@muniment/models/llm/ServerListing"
import { shownText, table } from "../Terminal.ts"
import { type TrialAdvice, totalsOf, type TriedModel, type TrialResult } from "./TrialAdvice.ts"

export const abilityLines = ({
  abilities,
  config,
  listing
}: Pick<TriedModel, "abilities" | "config" | "listing">): string => {
  const contextTokens = listing?.contextTokens.get(config.model)
  return table([
    [
      "model",
      `${shownText(config.model)} at ${config.baseUrl}${listing?.product === undefined ? "" : ` (${listing.product})`}`
    ],
    ["schema", schemaTexts[abilities.schemaBy]],
    ["thinking", thinkingTexts[abilities.thinking]],
    ["speed", `${abilities.tokensPerSecond.toFixed(abilities.tokensPerSecond < 10 ? 1 : 0)} tokens a second`],
    ["context", contextTokens === undefined ? "the server does not say" : `${contextTokens} tokens`]
  ])
}

const schemaTexts: Readonly<Record<ServerAbilities["schemaBy"], string>> = {
  json_schema: "imposed by the server (json_schema)",
  json_object: "the server imposes JSON (json_object), the schema is in the prompt",
  prompt: "in the prompt only: the server takes neither json_schema nor json_object"
}

const thinkingTexts: Readonly<Record<ServerAbilities["thinking"], string>> = {
  none: "the model does not think before it answers",
  switched_off: "can be switched off, and is",
  stays_on: "cannot be switched off"
}

export const trialReport = ({ byModel, byRules }: TriedModel, advice: TrialAdvice): string =>
  [
    table([
      heading,
      ...byModel.map(row),
      totalsRow("all, by the model", byModel),
      totalsRow("all, by the rules", byRules)
    ]),
    listText(
      "Stored, but not so:",
      byModel.flatMap(({ falsehoods }) => falsehoods)
    ),
    listText(
      "Answered wrongly:",
      byModel.flatMap(({ wrong }) => wrong.map(({ answer, question }) => `${question} ${answer}`))
    ),
    listText("Calls of the model that gave nothing:", failureLines(byModel)),
    ...advice.notes,
    [
      advice.isBetterThanRules ? "Settings for this model:" : "Setting:",
      ...Object.entries(advice.settings).map(([name, value]) => settingLine(name, value))
    ].join("\n")
  ]
    .filter((part) => part !== "")
    .join("\n\n")

const heading = [
  "CONVERSATION",
  "FACTS",
  "FALSE",
  "RIGHT",
  "WRONG",
  "UNANSWERED",
  "READ IN",
  "SLOWEST ANSWER",
  "TOKENS"
]

const row = (result: TrialResult): ReadonlyArray<string> => [
  result.title,
  `${result.held} of ${result.told}`,
  String(result.falsehoods.length),
  String(result.right),
  String(result.wrong.length),
  String(result.withheld),
  seconds(result.readingMillis),
  seconds(result.answerMillis),
  `${result.inputTokens} in, ${result.outputTokens} out`
]

const totalsRow = (title: string, results: ReadonlyArray<TrialResult>): ReadonlyArray<string> => {
  const totals = totalsOf(results)
  const most = (of: (result: TrialResult) => number) => Math.max(...results.map(of))
  const sum = (of: (result: TrialResult) => number) => results.reduce((count, result) => count + of(result), 0)
  return [
    title,
    `${totals.held} of ${totals.told}`,
    String(totals.falsehoods),
    String(totals.right),
    String(totals.wrong),
    String(totals.withheld),
    seconds(sum(({ readingMillis }) => readingMillis)),
    seconds(most(({ answerMillis }) => answerMillis)),
    `${sum(({ inputTokens }) => inputTokens)} in, ${sum(({ outputTokens }) => outputTokens)} out`
  ]
}

const seconds = (millis: number): string => `${(millis / 1_000).toFixed(1)} s`

const listText = (title: string, lines: ReadonlyArray<string>): string =>
  lines.length === 0 ? "" : [title, ...lines.map((line) => `  ${shownText(line)}`)].join("\n")

const failureLines = (results: ReadonlyArray<TrialResult>): ReadonlyArray<string> =>
  results.flatMap(({ failures, title }) =>
    Object.entries(failures).map(([key, count]) => {
      const [purpose = "", reason = ""] = key.split(" ")
      return `${title}: ${purpose === "extraction" ? "reading" : "answer"} ${failureTexts[reason] ?? reason}${count > 1 ? `, ${count} times` : ""}`
    })
  )

const failureTexts: Readonly<Record<string, string>> = {
  timeout: "took too long",
  truncated: "did not end",
  malformed: "did not have the form that was asked for",
  refused: "was refused",
  rejected: "was rejected by the server",
  unreachable: "failed in the server",
  rate_limited: "was refused by the server, which takes no more requests",
  circuit_open: "was not asked for after too many failures"
}

/**
 * Language models that run on this machine: the usual ports are asked for their models, and what answers says what it is.
 * Another program on such a port lists none.
 */
interface LocalModelServer {
  readonly name: string
  readonly baseUrl: string
  /** At least one. */
  readonly models: ServerListing["models"]
}

/** Ports of Ollama, llama.cpp, LM Studio and vLLM. Tests have their own. */
export const LocalModelPorts = Context.Reference<ReadonlyArray<number>>("muniment/cli/LocalModelPorts", {
  defaultValue: () => [11_434, 8_080, 1_234, 8_000]
})

/** Time-out of one question; a server that is there answers in a few milliseconds. */
const probeMillisMax = 500

export const localModelServers = Effect.gen(function* () {
  const ports = yield* LocalModelPorts
  const found = yield* Effect.forEach(ports, serverAt, { concurrency: "unbounded" })
  return found.flatMap((server) => server ?? [])
}).pipe(Effect.provide(layerNodeHttp))

const serverAt = Effect.fnUntraced(function* (port: number) {
  const baseUrl = `http://127.0.0.1:${port}/v1`
  const listing = yield* serverListing({ provider: "openai-compatible", baseUrl, apiKey: undefined }, probeMillisMax)
  if (listing === undefined || listing.models.length === 0) return undefined
  return { name: listing.product ?? "A model's server", baseUrl, models: listing.models } satisfies LocalModelServer
})

const shownModelsMax = 5

/** Lines that turn the model on. */
export const turningOn = (server: LocalModelServer): string => {
  const [model = "", ...others] = server.models
  const more = shownText(others.slice(0, shownModelsMax).join(", "))
  return [
    `${server.name} answers at ${server.baseUrl}${more === "" ? "" : ` (also ${more})`}. To let it read conversations, set, and start the service again:`,
    settingLine("MUNIMENT_LLM_PROVIDER", "openai-compatible"),
    settingLine("MUNIMENT_LLM_BASE_URL", server.baseUrl),
    settingLine("MUNIMENT_LLM_MODEL", model),
    `First see what it is worth: ${tryLine(server)}`
  ].join("\n")
}

export const tryLine = ({ baseUrl, models: [model = ""] }: LocalModelServer): string =>
  `npm run muniment -- models try --base-url ${baseUrl} --model ${shellWord(model)}`

/** Settings as lines that can be pasted into a shell. */
export const settingLine = (name: string, value: string): string => `export ${name}=${shellWord(value)}`

/** One word for a shell, whatever is in it. */
const shellWord = (text: string): string =>
  /^[\w.:/@+-]+$/.test(text) ? text : `'${shownText(text).replaceAll("'", `'\\''`)}'`

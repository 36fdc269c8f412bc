/** A trial as a person reads it (pure). */
import type { ServerAbilities } from "@muniment/models/llm/ServerAbilities"
import { shownText, table } from "../ShownText.ts"
import { settingLine } from "./LocalModelServers.ts"
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

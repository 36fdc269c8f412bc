/**
 * The text at the end of a start: URL, data directory, the operator's key (shown only this once) or its file, and a call
 * to try. The call is below the box, so that it can be copied.
 */
import type { ShownStart } from "./StartSecrets.ts"

const keyPlaceholder = "$MUNIMENT_API_KEY"

export const bootBox = (report: ShownStart): string =>
  [
    ...framed(`Muniment is ready (${(report.bootMillis / 1_000).toFixed(1)} s)`, [
      `URL   ${report.url}`,
      `Data  ${report.dataDirectory}`,
      ...keyLines(report),
      `Docs  ${report.docsUrl}`
    ]),
    ruleOfCredits(report),
    ...consoleLines(report),
    ...report.warnings.map((warning) => `! ${warning}`),
    report.operatorKey === undefined && report.operatorKeyFile === undefined
      ? 'Try it with a key ("npm run muniment -- keys create --account NAME" makes one):'
      : "Try it:",
    ...callToTry(report),
    ""
  ].join("\n")

/** Which rule holds for accounts other than the operator's. */
const ruleOfCredits = ({ monthlyAllowance }: ShownStart): string =>
  monthlyAllowance === null
    ? "Credits: calls are recorded and not charged, as nothing can be paid here; free plans keep memories for 7 days."
    : `Credits: ${monthlyAllowance} a month for each account for nothing; free plans keep memories for 7 days without a balance.`

const keyLines = ({ operatorKey, operatorKeyFile }: ShownStart): ReadonlyArray<string> => {
  if (operatorKey !== undefined) return [`Key   ${operatorKey}  (shown once)`]
  return operatorKeyFile === undefined ? [] : [`Key   in ${operatorKeyFile}  (keep it elsewhere, remove the file)`]
}

const consoleLines = ({ consoleUrl, isLinkAsked = false }: ShownStart): ReadonlyArray<string> => {
  if (consoleUrl !== undefined) return [`Console (link for one sign-in, within ten minutes): ${consoleUrl}`]
  return isLinkAsked ? ['Console: "muniment console" (in a clone "npm run muniment -- console") makes a link'] : []
}

const framed = (title: string, lines: ReadonlyArray<string>): ReadonlyArray<string> => {
  const width = Math.max(title.length + 1, ...lines.map((line) => line.length))
  return [
    `╭ ${title} ${"─".repeat(width - title.length)}╮`,
    ...lines.map((line) => `│ ${line.padEnd(width)} │`),
    `╰${"─".repeat(width + 2)}╯`
  ]
}

const callToTry = ({ operatorKey, operatorKeyFile, url }: ShownStart): ReadonlyArray<string> => {
  const body = {
    agentId: "assistant",
    memories: [{ kind: "factual_memory", data: { subject: "Alice", fact: "Alice lives in Seattle" } }]
  }
  const key = operatorKey ?? (operatorKeyFile === undefined ? keyPlaceholder : `$(cat '${operatorKeyFile}')`)
  const authorization = `-H "authorization: Bearer ${key}"`
  return [
    `  curl ${url}/v1/memories ${authorization} -H "content-type: application/json" -d '${JSON.stringify(body)}'`,
    `  curl "${url}/v1/memories/search?query=where+does+Alice+live" ${authorization}`
  ]
}

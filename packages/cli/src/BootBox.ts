/**
 * The text at the end of a start: URL, data directory, the operator's key (shown only this once), and a call to
 * try. The call is below the box, so that it can be copied.
 */
import type { BootReport } from "@muniment/server/App"

const keyPlaceholder = "$MUNIMENT_API_KEY"

export const bootBox = (report: BootReport): string =>
  [
    ...framed(`Muniment is ready (${(report.bootMillis / 1_000).toFixed(1)} s)`, [
      `URL   ${report.url}`,
      `Data  ${report.dataDirectory}`,
      ...(report.operatorKey === undefined ? [] : [`Key   ${report.operatorKey}  (shown once)`]),
      `Docs  ${report.docsUrl}`
    ]),
    ...(report.consoleUrl === undefined
      ? []
      : [`Console (link for one sign-in, within ten minutes): ${report.consoleUrl}`]),
    ...report.warnings.map((warning) => `! ${warning}`),
    report.operatorKey === undefined
      ? 'Try it with a key ("npm run muniment -- keys create --account NAME" makes one):'
      : "Try it:",
    ...callToTry(report),
    ""
  ].join("\n")

const framed = (title: string, lines: ReadonlyArray<string>): ReadonlyArray<string> => {
  const width = Math.max(title.length + 1, ...lines.map((line) => line.length))
  return [
    `╭ ${title} ${"─".repeat(width - title.length)}╮`,
    ...lines.map((line) => `│ ${line.padEnd(width)} │`),
    `╰${"─".repeat(width + 2)}╯`
  ]
}

const callToTry = ({ url, operatorKey = keyPlaceholder }: BootReport): ReadonlyArray<string> => {
  const body = {
    agentId: "assistant",
    memories: [{ kind: "factual_memory", data: { subject: "Alice", fact: "Alice lives in Seattle" } }]
  }
  const authorization = `-H "authorization: Bearer ${operatorKey}"`
  return [
    `  curl ${url}/v1/memories ${authorization} -H "content-type: application/json" -d '${JSON.stringify(body)}'`,
    `  curl "${url}/v1/memories/search?query=where+does+Alice+live" ${authorization}`
  ]
}

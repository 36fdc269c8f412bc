/**
 * `muniment serve`: runs the service until SIGTERM; configured by environment variables only. With `--fetch-model` the
 * embedding model is fetched meanwhile where it is missing.
 */
import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { join } from "node:path"
import type { BootReport } from "@muniment/server/App"
import { replacePrivateFile } from "@muniment/trust/PrivateFile"
import { fetchMissingModel } from "../DefaultModel.ts"
import { withStartFailure } from "../LocalServer.ts"
import { flags } from "./flags.ts"

export const serve = Command.make(
  "serve",
  {
    fetchModel: Flag.Boolean("fetch-model").pipe(
      Flag.withDescription("Fetch the embedding model if it is not there; the service answers meanwhile"),
      Flag.withDefault(false)
    ),
    json: flags.json
  },
  ({ fetchModel, json }) =>
    Effect.gen(function* () {
      const { checkStart } = yield* Effect.promise(() => import("@muniment/server/StartChecks"))
      yield* checkStart
      if (fetchModel) {
        yield* fetchMissingModel.pipe(
          Effect.catch(({ message }) => Console.error(`Search is by words alone: ${message}`)),
          Effect.forkChild
        )
      }
      const { runServer } = yield* Effect.promise(() => import("@muniment/server/App"))
      return yield* runServer({
        onReady: Effect.fnUntraced(function* (report) {
          const shown = process.stdout.isTTY ? report : yield* withoutSecrets(report)
          yield* Console.log(json ? JSON.stringify(shown) : bootBox(shown))
        })
      })
    }).pipe(Effect.catchCause((cause) => Effect.failCause(withStartFailure(cause))))
).pipe(
  Command.withDescription(
    "Run the service. It is configured by environment variables (MUNIMENT_*); SIGTERM finishes open requests and stops it."
  )
)

const keyPlaceholder = "$MUNIMENT_API_KEY"

/**
 * The text at the end of a start: URL, data directory, the operator's key (shown only this once) or its file, and a call
 * to try. The call is below the box, so that it can be copied.
 */
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
  return isLinkAsked ? ['Console: "npm run muniment -- console" makes a link'] : []
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

/**
 * Secrets of a start whose output is no terminal: what is printed there stays in journals and in logs of containers. The
 * first key goes to a file that only its owner can read; a link to the console is made when it is asked for.
 */
interface ShownStart extends BootReport {
  /** Holds the first key, where that is not shown. */
  readonly operatorKeyFile?: string | undefined
  /** The console takes sign-ins, and no link is shown. */
  readonly isLinkAsked?: boolean
}

/** In the data directory. */
export const firstKeyName = "first-key"

const withoutSecrets = (report: BootReport): Effect.Effect<ShownStart> => {
  const { consoleUrl, dataDirectory, operatorKey, warnings } = report
  const shown = { ...report, operatorKey: undefined, consoleUrl: undefined, isLinkAsked: consoleUrl !== undefined }
  if (operatorKey === undefined) return Effect.succeed(shown)
  const path = join(dataDirectory, firstKeyName)
  return Effect.try(() => replacePrivateFile(path, `${operatorKey}\n`)).pipe(
    Effect.as({ ...shown, operatorKeyFile: path }),
    Effect.catch(({ cause }) => {
      const reason = cause instanceof Error ? cause.message : String(cause)
      return Effect.succeed({ ...shown, warnings: [...warnings, `the first key could not be kept: ${reason}`] })
    })
  )
}

/**
 * Second half of the set-up, under a recent Node: the console and the service built, the embedding model on disk,
 * verified. Without it search runs on its lexical half. Reports what is missing, what that costs, and
 * the command that repairs it.
 */
import cliProgress from "cli-progress"
import { Effect } from "effect"
import { join, resolve } from "node:path"
import { bringModel, modelOnDisk } from "@muniment/cli/DefaultModel"
import type { FetchProgress } from "@muniment/models/ModelFetch"
import { ensureConsole } from "./console.ts"
import { serviceEntry } from "./service.ts"

const root = resolve(import.meta.dirname, "..")
const mendingCommand = "npm run setup"
const bytesPerMegabyte = 1_000_000

const main = async (): Promise<void> => {
  await ensureConsole()
  await serviceEntry()
  const modelsDir = process.env["MUNIMENT_MODELS_DIR"] ?? join(root, "models")
  const configured = process.env["MUNIMENT_EMBEDDING_MODEL"] ?? "auto"
  if (configured === "none") return
  if ((await Effect.runPromise(modelOnDisk(modelsDir, configured))) === undefined)
    await fetchShown(modelsDir, configured)
}

const fetchShown = async (modelsDir: string, chosen: string): Promise<void> => {
  say(["Fetching the embedding model (once, 16 to 104 MB) ..."])
  const progress = progressBar()
  try {
    const ready = await bringModel(modelsDir, chosen, progress.report)
    progress.stop()
    say([`Embedding model ${ready.modelId}: ready.`])
  } catch (cause) {
    progress.stop()
    const reasons = (cause instanceof Error ? cause.message : String(cause)).split("\n").map((line) => `    ${line}`)
    say([
      "The embedding model is missing. What was tried:",
      ...reasons,
      "  Cost: search finds words, not meanings, until it is there; nothing stored is lost, vectors are added later.",
      `  To mend it: run "${mendingCommand}" with a network, or copy the files as packages/models/README.md says.`
    ])
  }
}

/** A bar at a terminal; otherwise one line for each file that is fetched. */
const progressBar = (): { readonly report: FetchProgress; readonly stop: () => void } => {
  const isTerminal = process.stdout.isTTY === true
  const bar = new cliProgress.SingleBar({
    format: "  {bar} {percentage}% of {megabytes} MB  {label}",
    hideCursor: true
  })
  let shown = ""
  const show = (totalBytes: number, label: string): void => {
    if (label === shown) return
    if (isTerminal && shown !== "") bar.stop()
    shown = label
    const megabytes = (totalBytes / bytesPerMegabyte).toFixed(1)
    if (isTerminal) bar.start(totalBytes, 0, { megabytes, label })
    else say([`  ${label} (${megabytes} MB)`])
  }
  return {
    report: (fetchedBytes, totalBytes, label) => {
      show(totalBytes, label)
      if (isTerminal) bar.update(Math.min(fetchedBytes, totalBytes))
    },
    stop: () => {
      if (isTerminal && shown !== "") bar.stop()
    }
  }
}

const say = (lines: ReadonlyArray<string>): void => {
  process.stdout.write(`${lines.join("\n")}\n`)
}

await main()

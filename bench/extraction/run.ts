/**
 * Scores of an extractor on the labelled conversations: precision and recall per kind, dates, forbidden memories,
 * calibration, time. `node bench/extraction/run.ts --help` names the options.
 */
import { parseArgs } from "node:util"
import { type Candidate, type CandidateKind, Extractor } from "@muniment/insight/extraction/Extractor"
import { RuleExtractor } from "@muniment/insight/rules/RuleExtractor"
import { Effect, type Layer } from "effect"
import { answerHelp } from "../Usage.ts"
import { kindsOf, type LabelledConversation, readConversations, readKinds } from "./LabelledSet.ts"
import { failuresText, reportText } from "./Report.ts"
import { score } from "./score.ts"

const usage =
  "node bench/extraction/run.ts [--split dev|held-out|all] [--extractor rules] [--failures] [--json]\n" +
  "  --failures  what was missed, wrong or forbidden, by conversation; --json  the whole score"

const extractors: ReadonlyMap<string, Layer.Layer<Extractor>> = new Map([["rules", RuleExtractor.layer]])

const main = async (): Promise<void> => {
  answerHelp(usage)
  const { values } = parseArgs({
    options: {
      split: { type: "string", default: "dev" },
      extractor: { type: "string", default: "rules" },
      failures: { type: "boolean", default: false },
      json: { type: "boolean", default: false }
    }
  })
  const conversations = conversationsOf(values.split)
  const layer = layerOf(values.extractor)
  const runs = await Effect.runPromise(extractAll(conversations).pipe(Effect.provide(layer)))
  const scored = score(conversations, new Map(runs.map(({ id, candidates }) => [id, candidates])))
  const millis = runs.map((run) => run.millis)
  const failed = runs.flatMap(({ failure }) => failure ?? [])
  if (failed.length > 0) process.exitCode = 1
  if (values.json) return print(JSON.stringify({ ...scored, millis, failed }, null, 2))
  print(`${values.extractor} on ${values.split}: ${conversations.length} conversations\n`)
  print(reportText(scored, millis))
  for (const failure of failed) print(failure)
  if (values.failures) print(`\n${failuresText(scored, conversations)}`)
}

const conversationsOf = (split: string): ReadonlyArray<LabelledConversation> => {
  if (split === "all") return [...readConversations("dev"), ...readConversations("held-out")]
  if (split === "dev" || split === "held-out") return readConversations(split)
  throw new Error(`no split ${split}\nusage: ${usage}`)
}

const layerOf = (name: string): Layer.Layer<Extractor> => {
  const layer = extractors.get(name)
  if (layer === undefined) throw new Error(`no extractor ${name}\nusage: ${usage}`)
  return layer
}

interface Run {
  readonly id: string
  readonly candidates: ReadonlyArray<Candidate>
  /** The reason, if the extractor failed. */
  readonly failure: string | undefined
  readonly millis: number
}

/** A busy machine may need longer to start the worker than an extraction may take. */
const startAttemptsMax = 5

/** The first conversation once more to start the worker, then one after the other, each timed alone. */
const extractAll = Effect.fn("bench.extractAll")(function* (conversations: ReadonlyArray<LabelledConversation>) {
  const kinds = readKinds()
  for (let attempt = 1; attempt <= startAttemptsMax; attempt++) {
    const { failure, millis } = yield* extractOne(conversations[0]!, kinds)
    process.stderr.write(`start of the worker, attempt ${attempt}: ${failure ?? "done"}, ${millis.toFixed(0)} ms\n`)
    if (failure === undefined) break
  }
  return yield* Effect.forEach(conversations, (conversation) => extractOne(conversation, kinds))
})

const extractOne = Effect.fn("bench.extractOne")(function* (
  conversation: LabelledConversation,
  kinds: ReadonlyMap<string, CandidateKind>
) {
  const extractor = yield* Extractor
  const start = performance.now()
  const { candidates, failure } = yield* extractor
    .extract({
      account: "bench",
      kinds: kindsOf(conversation, kinds),
      messages: conversation.messages,
      context: [],
      summary: undefined,
      conversationDate: conversation.conversationDate
    })
    .pipe(
      Effect.map((extraction) => ({ candidates: extraction.candidates, failure: undefined })),
      Effect.catchTag("ModelFailure", ({ reason, message }) =>
        Effect.succeed({ candidates: [], failure: `${conversation.id} failed (${reason}): ${message}` })
      )
    )
  return { id: conversation.id, candidates, failure, millis: performance.now() - start } satisfies Run
})

const print = (text: string): void => void process.stdout.write(`${text}\n`)

await main()

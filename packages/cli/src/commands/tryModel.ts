/**
 * Tries the language model on three conversations, in a service of this process on an empty data directory: what is read,
 * stored, found and answered is what the service would make of it. Accounts on a plan are served by the model, free ones
 * by the rules, so that both are measured alike.
 */
import { Clock, Context, Effect } from "effect"
import { FetchHttpClient, HttpClient } from "effect/http"
import { Muniment } from "@muniment/client/Muniment"
import { conversationMessageKind } from "@muniment/domain/Memory"
import { CommandFailed } from "../CommandFailed.ts"
import { LocalServer, type ServerEndpoint } from "../LocalServer.ts"
import {
  type GivenAnswer,
  type TrialConversation,
  trialConversations,
  type TrialResult,
  trialResult
} from "../modelTrial/TrialAdvice.ts"
import { type Operator, ask, settledStatus, withOperator } from "./clients.ts"

interface Trial {
  readonly byModel: ReadonlyArray<TrialResult>
  readonly byRules: ReadonlyArray<TrialResult>
}

/**
 * How long a model is waited for, milliseconds, unless `MUNIMENT_LLM_TIMEOUT_MILLIS` says more: one that takes longer is of
 * little use, and Node's `fetch` ends an answer after 300 s. Tests have less.
 */
export const TrialPatience = Context.Reference("muniment/cli/TrialPatience", {
  defaultValue: () => ({ reading: 290_000, answer: 120_000 })
})

/** Time-out of the trial's service, so long that the patience above ends first. */
const unlimitedMillis = 3_600_000
const vectorsPollMillis = 100
const readingPollMillis = 250
/** An agent and a person of an account that has no other. */
const scope = { agentId: "trial", subjectId: "person" } as const

type OnStep = (done: number, total: number, step: string) => Effect.Effect<void>

/** `settings`: those of the service. */
export const tryModel = Effect.fnUntraced(function* (settings: Readonly<Record<string, string>>, onStep: OnStep) {
  const total = trialConversations.reduce((sum, { questions }) => sum + 1 + questions.length, 0)
  const patience = yield* TrialPatience
  const reading = Math.max(patience.reading, Number(settings["MUNIMENT_LLM_TIMEOUT_MILLIS"] ?? 0))
  let done = 0
  const step = (name: string) => Effect.suspend(() => onStep(done++, total, name))
  return yield* withOperator(
    ({ admin }, endpoint) =>
      Effect.gen(function* () {
        yield* settledStatus(admin)
        const tryAll = (reader: Reader) =>
          Effect.forEach(trialConversations, (conversation, at) =>
            tryConversation({ operator: admin, endpoint, reader }, conversation, `${reader.name}-${at + 1}`)
          )
        return {
          byRules: yield* tryAll(rules),
          byModel: yield* tryAll({ name: "model", plan: "pro", step, patience: { ...patience, reading } })
        } satisfies Trial
      }),
    "withModel"
  ).pipe(
    Effect.provide(
      LocalServer.layerScratch({
        ...settings,
        MUNIMENT_LLM_ACCOUNTS: "paid",
        MUNIMENT_LLM_TIMEOUT_MILLIS: String(unlimitedMillis),
        MUNIMENT_RATE_LIMITS: "off"
      })
    )
  )
})

interface Reader {
  readonly name: "rules" | "model"
  readonly plan: "free" | "pro"
  readonly step: (name: string) => Effect.Effect<void>
  readonly patience: { readonly reading: number; readonly answer: number }
}

const rules: Reader = {
  name: "rules",
  plan: "free",
  step: () => Effect.void,
  patience: { reading: unlimitedMillis, answer: unlimitedMillis }
}

interface Place {
  readonly operator: Operator["admin"]
  readonly endpoint: ServerEndpoint
  readonly reader: Reader
}

const tryConversation = Effect.fnUntraced(function* (place: Place, conversation: TrialConversation, account: string) {
  const { endpoint, operator, reader } = place
  const { secret } = yield* operator.createKey({ payload: { account, plan: reader.plan } })
  const muniment = new Muniment({ baseUrl: endpoint.url, apiKey: secret, timeoutMillis: unlimitedMillis, retries: 0 })
  const failedBefore = yield* failedCalls(endpoint)
  yield* reader.step(`Reading ${conversation.title}`)
  const reading = yield* timed(
    within(
      reader.patience.reading,
      `read a conversation of ${conversation.messages.length} messages`,
      readConversation(place, muniment, conversation)
    )
  )
  const memories = yield* storedMemories(place, muniment)
  const answers: Array<GivenAnswer> = []
  for (const asked of conversation.questions) {
    yield* reader.step(`Asking about ${conversation.title}`)
    const query = { ...scope, query: asked.question, mode: "answer" } as const
    const search = ask((signal) => muniment.search(query, { signal }))
    const { millis, value } = yield* timed(within(reader.patience.answer, "answer a question", search))
    answers.push({ asked, millis, answer: value.grounded ? value.answer : undefined })
  }
  const failures = yield* failedCalls(endpoint)
  for (const [reason, count] of failedBefore) failures.set(reason, (failures.get(reason) ?? 0) - count)
  // Messages that could not be read would be tried again while the next ones are read.
  yield* Effect.ignore(ask((signal) => muniment.batchDelete({ filters: { agentId: scope.agentId } }, { signal })))
  return trialResult({
    conversation,
    memories,
    answers,
    readingMillis: reading.millis,
    ...(yield* tokensOf(endpoint, account)),
    failures
  })
})

/**
 * Until it is read, or a call of the model has failed. A request that waits for its reading could not be left: it is a
 * write, which no stop of the service cuts short.
 */
const readConversation = Effect.fnUntraced(function* (
  { endpoint, operator }: Place,
  muniment: Muniment,
  { messages }: TrialConversation
) {
  const failedBefore = failedReadings(yield* failedCalls(endpoint))
  const body = { ...scope, conversation: messages }
  const { extraction } = yield* ask((signal) => muniment.create(body, { signal }))
  if (extraction === "done") return
  while ((yield* operator.status()).extraction.pending > 0) {
    if (failedReadings(yield* failedCalls(endpoint)) > failedBefore) return
    yield* Effect.sleep(readingPollMillis)
  }
})

const failedReadings = (failures: ReadonlyMap<string, number>): number =>
  [...failures].reduce((sum, [reason, count]) => (reason.startsWith("extraction") ? sum + count : sum), 0)

const within = <A, E, R>(millis: number, what: string, work: Effect.Effect<A, E, R>) =>
  Effect.timeoutOrElse(work, {
    duration: millis,
    orElse: () =>
      Effect.fail(
        new CommandFailed({
          reason: `The model is too slow here: it did not ${what} within ${millis / 1_000} s. A smaller model answers sooner; MUNIMENT_LLM_TIMEOUT_MILLIS waits longer.`
        })
      )
  })

/** The extracted ones that hold now, once what is stored has its vectors. */
const storedMemories = Effect.fnUntraced(function* ({ operator }: Place, muniment: Muniment) {
  for (;;) {
    const { pending, ready } = (yield* operator.status()).embedding
    if (pending === 0 || !ready) break
    yield* Effect.sleep(vectorsPollMillis)
  }
  const { memories } = yield* ask((signal) => muniment.list({ agentId: scope.agentId, limit: 100 }, { signal }))
  return memories.filter(({ kind }) => kind !== conversationMessageKind)
})

const timed = <A, E, R>(work: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const startedMillis = yield* Clock.currentTimeMillis
    const value = yield* work
    return { value, millis: (yield* Clock.currentTimeMillis) - startedMillis }
  })

const tokensOf = (endpoint: ServerEndpoint, account: string) =>
  withOperator(({ money }) => money.modelUsage({ query: { account } })).pipe(
    Effect.provide(LocalServer.layerOf(endpoint)),
    Effect.map(({ usage }) => ({
      inputTokens: usage.reduce((sum, day) => sum + day.inputTokens, 0),
      outputTokens: usage.reduce((sum, day) => sum + day.outputTokens, 0)
    }))
  )

/** Calls of the model that gave nothing, since the process started, by purpose and reason. */
const failedCalls = Effect.fnUntraced(function* ({ url }: ServerEndpoint) {
  const client = yield* HttpClient.HttpClient
  const { text } = yield* client.get(`${url}/metrics`)
  const counts = new Map<string, number>()
  for (const [, labels = "", count] of (yield* text).matchAll(/^muniment_llm_calls_total\{([^}]*)\} (\d+)/gm)) {
    const [purpose, outcome] = ["purpose", "outcome"].map((name) => new RegExp(`${name}="(\\w+)"`).exec(labels)?.[1])
    if (outcome !== undefined && outcome !== "answered") counts.set(`${purpose} ${outcome}`, Number(count))
  }
  return counts
}, Effect.provide(FetchHttpClient.layer))

/**
 * `muniment doctor`: reads the state of the service, then writes and searches through /v1 as an agent does, with a
 * temporary key of an account of its own. In any case the account is erased, or, if there was one of that name before, the
 * key revoked. Exit code 1 when a check fails. Where rules read conversations, it looks for a language model on this machine.
 */
import { Clock, Console, Effect } from "effect"
import { Command } from "effect/cli"
import { Muniment } from "@muniment/client/Muniment"
import { type ModelFailureReason, remedies } from "@muniment/models/llm/ModelFailure"
import { type Check, statusChecks } from "../Checks.ts"
import { commandFailed, CommandFailed } from "../CommandFailed.ts"
import type { ServerEndpoint } from "../LocalServer.ts"
import { localModelServers, turningOn } from "../modelTrial/TrialReport.ts"
import { demandService } from "../ServiceUrl.ts"
import { table } from "../Terminal.ts"
import { flags } from "./flags.ts"
import { type Operator, settledStatus, withOperator } from "./clients.ts"

/** Account and agent of the trial memory; where there is an account of this name already, it stays. */
const trialAccount = "doctor"
const trialAgent = "doctor"

export const doctor = Command.make(
  "doctor",
  { json: flags.json },
  Effect.fn("doctor")(function* ({ json }) {
    const { checks, languageModels } = yield* withOperator(
      (clients, endpoint) =>
        Effect.gen(function* () {
          const status = yield* settledStatus(clients.admin)
          const { reader } = status.extraction
          return {
            checks: [...statusChecks(status), ...(yield* trialChecks(clients, endpoint, reader))],
            languageModels: reader === "rules" ? yield* localModelServers : []
          }
        }),
      "withModel"
    )
    yield* Console.log(
      json
        ? JSON.stringify({ checks, languageModels })
        : [report(checks), ...languageModels.map(turningOn)].join("\n\n")
    )
    yield* demandNoFailure(checks)
  })
).pipe(Command.withDescription("Check the service with a real write and a real search, and say what to do"))

/** The same without the trial: of a service that runs, and nothing is written. */
export const status = Command.make(
  "status",
  { json: flags.json },
  Effect.fn("status")(function* ({ json }) {
    yield* demandService
    const checks = yield* withOperator(({ admin }) => Effect.map(admin.status(), statusChecks))
    yield* Console.log(json ? JSON.stringify({ checks }) : report(checks))
    yield* demandNoFailure(checks)
  })
).pipe(Command.withDescription("Show how the running service is; exit code 1 when a check fails"))

const demandNoFailure = (checks: ReadonlyArray<Check>) => {
  const failed = checks.filter(({ verdict }) => verdict === "fail").map(({ name }) => name)
  return failed.length === 0 ? Effect.void : new CommandFailed({ reason: `Failed: ${failed.join(", ")}.` })
}

/** One check for the write, one for the search, one for a conversation, one for the clean-up. */
const trialChecks = ({ accounts, admin }: Operator, endpoint: ServerEndpoint, reader: string) =>
  Effect.acquireUseRelease(
    Effect.gen(function* () {
      const before = (yield* admin.listAccounts()).accounts
      const made = yield* admin.createKey({ payload: { account: trialAccount, label: "doctor, temporary" } })
      return { ...made, isNew: before.every(({ name }) => name !== trialAccount) }
    }),
    ({ secret }) => tryOut(new Muniment({ baseUrl: endpoint.url, apiKey: secret }), reader),
    ({ isNew, key }) =>
      isNew
        ? accounts.erase({ payload: { account: trialAccount, dryRun: false } })
        : Effect.asVoid(admin.revokeKey({ params: { id: key.id }, query: {} }))
  ).pipe(
    Effect.catch((cause) =>
      Effect.succeed([failed("key", cause, "the operator routes do not work; read the service's log")])
    )
  )

const tryOut = Effect.fnUntraced(function* (muniment: Muniment, reader: string) {
  const startedMillis = yield* Clock.currentTimeMillis
  // A word that no other memory contains, so that a hit can only be the memory just written.
  const word = `trial${startedMillis.toString(36)}`
  const data = { subject: "doctor", fact: `The word of this trial is ${word}` }
  const written = yield* Effect.result(
    ask(() => muniment.create({ agentId: trialAgent, memories: [{ kind: "factual_memory", data }], ttl: "1h" }))
  )
  if (written._tag === "Failure") return [failed("write", written.failure, "read the service's log")]
  const writtenMillis = yield* Clock.currentTimeMillis
  const id = written.success.created[0]?.id ?? ""
  const searched = yield* searchCheck(muniment, word, id)
  const read = yield* extractionCheck(muniment, reader)
  const deleted = yield* Effect.result(ask(() => muniment.delete(id)))
  return [
    ok("write", `a memory was stored in ${writtenMillis - startedMillis} ms`),
    searched,
    read,
    deleted._tag === "Success"
      ? ok("delete", "the trial memory is gone")
      : failed("delete", deleted.failure, `delete memory ${id} of account ${trialAccount}; it expires within the hour`)
  ]
})

const searchCheck = Effect.fnUntraced(function* (muniment: Muniment, word: string, id: string) {
  const startedMillis = yield* Clock.currentTimeMillis
  const outcome = yield* Effect.result(
    ask(() => muniment.search({ query: `word of the trial ${word}`, agentId: trialAgent }))
  )
  const tookMillis = (yield* Clock.currentTimeMillis) - startedMillis
  if (outcome._tag === "Failure") return failed("search", outcome.failure, "read the service's log")
  return outcome.success.memories.some((memory) => memory.id === id)
    ? ok("search", `it was found in ${tookMillis} ms`)
    : failed(
        "search",
        new Error("the memory just stored was not found"),
        "restart the service: indexes are then rebuilt from the files"
      )
})

/** The memories of the trial conversation are deleted at once, and expire within an hour in any case. */
const extractionCheck = Effect.fnUntraced(function* (muniment: Muniment, reader: string) {
  const startedMillis = yield* Clock.currentTimeMillis
  const subjectId = `trial-${startedMillis.toString(36)}`
  const outcome = yield* Effect.result(
    ask(() => muniment.create({ agentId: trialAgent, subjectId, conversation: [trialMessage], ttl: "1h" }))
  )
  const tookMillis = (yield* Clock.currentTimeMillis) - startedMillis
  yield* Effect.ignore(ask(() => muniment.batchDelete({ filters: { agentId: trialAgent, subjectId } })))
  if (outcome._tag === "Failure") {
    return failed("extraction", outcome.failure, lookAtModel)
  }
  if (outcome.success.extraction === "pending") {
    return {
      name: "extraction",
      verdict: "warn",
      detail: `${reader} had not read a short conversation after ${tookMillis} ms, and goes on in the background`,
      remedy:
        reader === "rules"
          ? "the machine is busy: try again"
          : '"npm run muniment -- models try" shows how long it takes'
    } satisfies Check
  }
  const { created, extractionProblem } = outcome.success
  if (extractionProblem !== undefined) {
    const { code, message } = extractionProblem
    const reason = code.replace("model_", "") as ModelFailureReason
    const remedy = reason === "truncated" ? readAgain : (remedies[reason] ?? lookAtModel)
    return { name: "extraction", verdict: "fail", detail: message, remedy } satisfies Check
  }
  const found = created.length
  return found > 0
    ? ok("extraction", `${reader} read ${found} memories out of a conversation in ${tookMillis} ms`)
    : ({
        name: "extraction",
        verdict: "warn",
        detail: `${reader} found nothing in a conversation that states a name and a home`,
        remedy: "try another language model"
      } satisfies Check)
})

const readAgain = 'take another model, or switch its thinking off; then "npm run muniment -- reread"'
const lookAtModel = "look at the MUNIMENT_LLM_ settings and at the model's server"

const trialMessage = { role: "user", content: "My name is Alice and I live in Seattle." } as const

const ask = <A>(call: () => Promise<A>) => Effect.tryPromise({ try: call, catch: commandFailed })

const ok = (name: string, detail: string): Check => ({ name, verdict: "ok", detail })

const failed = (name: string, cause: Error, remedy: string): Check => ({
  name,
  verdict: "fail",
  detail: cause.message,
  remedy
})

const report = (checks: ReadonlyArray<Check>): string =>
  table(
    checks.flatMap(({ name, verdict, detail, remedy }) => [
      [verdict, name, detail],
      ...(remedy === undefined ? [] : [["", "", `→ ${remedy}`]])
    ])
  )

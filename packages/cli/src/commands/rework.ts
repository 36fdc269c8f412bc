/**
 * Work over all that is stored, which the service does in the background and resumes after a stop: `muniment reread`,
 * `reembed` and `consolidate`.
 */
import { Console, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { ReembedProgress, RereadAccount } from "@muniment/domain/api/AdminApi"
import type { Consolidation, ConsolidationRun } from "@muniment/domain/api/UpkeepAdminApi"
import { CommandFailed } from "../CommandFailed.ts"
import { agreement, makeProgress, shownText, table, timeText } from "../Terminal.ts"
import { flags, optionalText, whereGiven } from "./flags.ts"
import { type Operator, settledStatus, withOperator } from "./clients.ts"

/**
 * `muniment reread`: lets the configured language model read stored conversations that rules have read. Says what it takes,
 * asks, and queues it; the service reads in the background and goes on after a stop.
 */
export const reread = Command.make(
  "reread",
  {
    account: Flag.optional(flags.account),
    agent: optionalText("agent", "Only this agent's conversations"),
    since: Flag.String("since").pipe(
      Flag.filter(
        (text) => /^\d{4}-\d{2}-\d{2}$/.test(text),
        () => "a day, YYYY-MM-DD"
      ),
      Flag.withDescription("Only messages that were said from this day on, YYYY-MM-DD, UTC"),
      Flag.optional
    ),
    dryRun: Flag.Boolean("dry-run").pipe(Flag.withDescription("Only say what it takes"), Flag.withDefault(false)),
    yes: Flag.Boolean("yes").pipe(
      Flag.withAlias("y"),
      Flag.withDescription("Queue it without asking"),
      Flag.withDefault(false)
    ),
    json: flags.json
  },
  Effect.fn("reread")(function* ({ account, agent, dryRun, json, since, yes }) {
    const payload = {
      ...whereGiven({ account, agentId: agent, since })
    }
    const ask = (isDryRun: boolean) =>
      Effect.map(
        withOperator(({ admin }) => admin.reread({ payload: { ...payload, dryRun: isDryRun } })),
        ({ accounts, days, model }) => ({ model, accounts, days })
      )
    const planned = yield* ask(true)
    if (dryRun) return yield* Console.log(json ? JSON.stringify(planned) : planText(planned))
    if (planned.accounts.length > 0) {
      yield* Console.error(planText(planned))
      if (!yes) yield* agreement("Read them again?", "Nothing was queued")
    }
    const queued = planned.accounts.length === 0 ? planned : yield* ask(false)
    if (json) return yield* Console.log(JSON.stringify(queued))
    const messages = queued.accounts.reduce((sum, one) => sum + one.messages, 0)
    return yield* Console.log(
      messages === 0
        ? planText(queued)
        : `${messages} messages are queued and read in the background; "npm run muniment -- doctor" shows how many wait.`
    )
  })
).pipe(
  Command.withDescription(
    "Let the language model read stored conversations that only rules have read. Shows what it takes, and asks; what was begun goes on"
  ),
  Command.withExamples([
    { command: "muniment reread --dry-run", description: "What it would take, by account" },
    { command: "muniment reread --account alice --since 2026-01-01 --yes", description: "Her messages of this year" }
  ])
)

interface Plan {
  readonly model: string
  readonly accounts: ReadonlyArray<RereadAccount>
  readonly days: number
}

const planText = ({ accounts, days, model }: Plan): string => {
  if (accounts.length === 0) return `Nothing is left for ${model} to read.`
  const head = ["ACCOUNT", "CONVERSATIONS", "MESSAGES", "CALLS", "TOKENS IN", "TOKENS OUT", "USD", "CREDITS", "DAYS"]
  const rows = accounts.map((one) => [
    one.account,
    ...[one.conversations, one.messages, one.calls, one.inputTokens, one.outputTokens].map(String),
    one.usd === null ? "-" : one.usd.toFixed(2),
    one.credits === null ? "-" : one.credits.toFixed(1),
    String(one.days)
  ])
  return [table([head, ...rows]), `Estimates for ${model}; the budgets of the day cover all in ${days} day(s).`].join(
    "\n"
  )
}

const pollMillis = 500
/** Polls without a new vector after which the command gives up: one minute. */
const idlePollsMax = 120

/**
 * `muniment reembed`: gives every memory a vector of the configured model. The service does it in
 * the background and resumes after a stop; this command starts it and shows its progress.
 */
export const reembed = Command.make(
  "reembed",
  {
    status: Flag.Boolean("status").pipe(Flag.withDescription("Only show the progress"), Flag.withDefault(false)),
    json: flags.json
  },
  Effect.fn("reembed")(function* ({ json, status }) {
    const reached = yield* withOperator(
      ({ admin }) => Effect.andThen(settledStatus(admin), status ? admin.reembedProgress() : embedAll(admin)),
      "withModel"
    )
    const { model, pending, total } = reached
    return yield* Console.log(json ? JSON.stringify({ model, pending, total }) : summaryOf(reached))
  })
).pipe(Command.withDescription("Embed memories that have no vector of the configured model; resumable"))

const embedAll = Effect.fnUntraced(function* (operator: Operator["admin"]) {
  const progress = yield* makeProgress("Embedding")
  let reached = yield* operator.reembed()
  if (reached.model === null) return yield* new CommandFailed({ reason: `${countsOf(reached)} Run "npm run setup".` })
  for (let idlePolls = 0; reached.pending > 0;) {
    yield* progress.update(reached.total - reached.pending, reached.total)
    if (idlePolls >= idlePollsMax) {
      return yield* new CommandFailed({
        reason: `No vector was added for a minute; "npm run muniment -- doctor" says why. ${countsOf(reached)}`
      })
    }
    yield* Effect.sleep(pollMillis)
    const next = yield* operator.reembedProgress()
    idlePolls = next.pending < reached.pending ? 0 : idlePolls + 1
    reached = next
  }
  return reached
}, Effect.scoped)

/** A message that was only read leaves nothing that tells it from a system message: there is no count. */
const neverStored =
  "Messages that were never stored, of conversations of which only extracted memories are kept, are not among them; how many is not known. To store them, send these conversations again."

const summaryOf = (progress: typeof ReembedProgress.Type): string => `${countsOf(progress)}\n${neverStored}`

const countsOf = ({ model, pending, total }: typeof ReembedProgress.Type): string =>
  model === null
    ? `No embedding model is available; ${pending} of ${total} memories wait for a vector.`
    : `${total - pending} of ${total} memories have a vector of ${model}; ${pending} wait.`

const account = Flag.optional(flags.account)

const list = Command.make(
  "list",
  {
    account,
    limit: Flag.Int("limit").pipe(Flag.withDescription("Rows shown, 1 to 1,000"), Flag.withDefault(100)),
    json: flags.json
  },
  Effect.fn("consolidate.list")(function* ({ account: name, json, limit }) {
    const query = { limit, ...whereGiven({ account: name }) }
    const { consolidations } = yield* withOperator(({ consolidations }) => consolidations.list({ query }))
    if (json) return yield* Console.log(JSON.stringify({ consolidations }))
    return yield* Console.log(consolidations.length === 0 ? "Nothing was consolidated." : doneTable(consolidations))
  })
).pipe(
  Command.withDescription("What was merged, replaced and ended: ids of memories, newest first"),
  Command.withExamples([{ command: "muniment consolidate list --account alice", description: "Of one account" }])
)

const run = Command.make(
  "run",
  {
    account,
    dryRun: Flag.Boolean("dry-run").pipe(
      Flag.withDescription("Ask the language model, show what it would change, and change nothing"),
      Flag.withDefault(false)
    ),
    json: flags.json
  },
  Effect.fn("consolidate.run")(function* ({ account: name, dryRun, json }) {
    const payload = { dryRun, ...whereGiven({ account: name }) }
    const { success: _, ...report } = yield* withOperator(({ consolidations }) => consolidations.run({ payload }))
    return yield* Console.log(json ? JSON.stringify(report) : reportText(report))
  })
).pipe(
  Command.withDescription("Consolidate agents with memories that were extracted since their last consolidation"),
  Command.withExamples([{ command: "muniment consolidate run --dry-run", description: "What would be changed" }])
)

const undo = Command.make(
  "undo",
  { id: Argument.String("id").pipe(Argument.withDescription("Id of a consolidation, con_...")), json: flags.json },
  Effect.fn("consolidate.undo")(function* ({ id, json }) {
    const { consolidation } = yield* withOperator(({ consolidations }) => consolidations.undo({ params: { id } }))
    if (json) return yield* Console.log(JSON.stringify({ consolidation }))
    const { memories } = consolidation
    return yield* Console.log(`Undone: ${memories.join(", ")} ${memories.length === 1 ? "stands" : "stand"} as before.`)
  })
).pipe(
  Command.withDescription("Let the memories of a consolidation stand as before"),
  Command.withExamples([
    { command: "muniment consolidate undo con_01KAJ8Q0V7E5XK9D2M4N6P8R0T", description: "One that was wrong" }
  ])
)

/** `muniment consolidate`: what the language model made of memories that lie beside each other, doing it now, undoing it. */
export const consolidate = Command.make("consolidate").pipe(
  Command.withDescription("Extracted memories that lie beside each other, consolidated by the language model"),
  Command.withSubcommands([list, run, undo])
)

const doneTable = (done: ReadonlyArray<Consolidation>): string =>
  table([
    ["ID", "WHEN", "ACCOUNT", "AGENT", "ACTION", "MEMORIES", "INTO", "UNDONE"],
    ...done.map(({ account: of, action, agentId, at, id, into, memories, undoneAt }) => [
      id,
      timeText(at),
      shownText(of),
      shownText(agentId),
      action,
      memories.join(" "),
      into,
      undoneAt === null ? "" : timeText(undoneAt)
    ])
  ])

const reportText = ({ agents, done, left, problems, proposed }: ConsolidationRun): string =>
  [
    ...(done.length === 0 ? [] : [doneTable(done)]),
    ...(proposed.length === 0
      ? []
      : [
          table([
            ["ACCOUNT", "AGENT", "ACTION", "MEMORIES", "TEXT"],
            ...proposed.map(({ account: of, action, agentId, memories, text }) => [
              shownText(of),
              shownText(agentId),
              action,
              memories.join(" "),
              shownText(text)
            ])
          ])
        ]),
    ...problems.map(
      ({ account: of, agentId, reason }) => `${shownText(of)} ${shownText(agentId)}: ${shownText(reason)}`
    ),
    `Agents with new memories beside others: ${agents}. Changes made: ${done.length}; proposed: ${proposed.length}.`,
    ...(left === 0 ? [] : [`${left} agents are left: the service goes on with them, or another run.`])
  ].join("\n")

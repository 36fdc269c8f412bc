/** `muniment consolidate`: what the language model made of memories that lie beside each other, doing it now, undoing it. */
import { Console, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { Consolidation, ConsolidationRun } from "@muniment/domain/api/ConsolidationAdminApi"
import { shownText, table, timeText } from "../ShownText.ts"
import { flags, whereGiven } from "./flags.ts"
import { withOperator } from "./operator.ts"

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

/** `muniment operators`: who may operate the service beside the holder of its data directory, in which role. */
import { Console, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { OperatorName, OperatorRole } from "@muniment/domain/Operator"
import { table, timeText } from "../Terminal.ts"
import { withOperator } from "./clients.ts"
import { flags } from "./flags.ts"

const operatorName = Argument.String("name").pipe(
  Argument.withDescription("Name of the operator"),
  Argument.withSchema(OperatorName)
)

const operatorRole = Flag.Literals("role", OperatorRole.literals).pipe(
  Flag.withDescription("viewer: looks; maintainer: all but money and operators; admin: all")
)

const add = Command.make(
  "add",
  {
    name: operatorName,
    role: operatorRole,
    json: flags.json
  },
  Effect.fn("operators.add")(function* ({ json, name, role }) {
    const { operator, secret } = yield* withOperator(({ operators: api }) =>
      api.addOperator({ payload: { name, role } })
    )
    if (json) return yield* Console.log(JSON.stringify({ operator, secret }))
    return yield* Console.log(
      `Operator ${operator.name}, ${operator.role}. The secret is shown once; it signs in to the console:\n  ${secret}`
    )
  })
).pipe(
  Command.withDescription("Add an operator with a secret of their own"),
  Command.withExamples([
    { command: "muniment operators add bob --role viewer", description: "Bob may look at everything" }
  ])
)

const list = Command.make(
  "list",
  { json: flags.json },
  Effect.fn("operators.list")(function* ({ json }) {
    const { operators: found } = yield* withOperator(({ operators: api }) => api.listOperators())
    if (json) return yield* Console.log(JSON.stringify({ operators: found }))
    const rows = found.map(({ createdAt, lastUsedAt, madeBy, name, prefix, revokedAt, role }) => [
      name,
      role,
      `${prefix}…`,
      timeText(createdAt),
      madeBy,
      timeText(lastUsedAt),
      revokedAt === undefined ? "active" : `revoked ${timeText(revokedAt)}`
    ])
    const heading = ["NAME", "ROLE", "SECRET", "CREATED", "MADE BY", "LAST USED", "STATE"]
    return yield* Console.log(rows.length === 0 ? "No operators beside the first." : table([heading, ...rows]))
  })
).pipe(Command.withDescription("List operators; secrets cannot be shown again"))

const change = Command.make(
  "change",
  { name: operatorName, role: operatorRole, json: flags.json },
  Effect.fn("operators.change")(function* ({ json, name, role }) {
    const { operator } = yield* withOperator(({ operators: api }) =>
      api.changeOperator({ params: { name }, payload: { role } })
    )
    return yield* Console.log(json ? JSON.stringify({ operator }) : `Operator ${name} is ${operator.role} now.`)
  })
).pipe(Command.withDescription("Give an operator another role, at once; the secret stays"))

const revoke = Command.make(
  "revoke",
  { name: operatorName, json: flags.json },
  Effect.fn("operators.revoke")(function* ({ json, name }) {
    const { operator } = yield* withOperator(({ operators: api }) => api.revokeOperator({ params: { name } }))
    return yield* Console.log(json ? JSON.stringify({ operator }) : `Operator ${operator.name} is revoked.`)
  })
).pipe(Command.withDescription("Revoke an operator and end their sessions, at once and for good"))

export const operators = Command.make("operators").pipe(
  Command.withDescription("Operators beside the holder of the data directory"),
  Command.withSubcommands([add, list, change, revoke])
)

/** `muniment webhooks`: what the operator's webhook was told of payments, and what it has not taken. */
import { Console, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { type WebhookRecord, WebhookState } from "@muniment/domain/Webhooks"
import { CommandFailed } from "../CommandFailed.ts"
import { shownText } from "../ShownText.ts"
import { table, timeText } from "../Table.ts"
import { flags } from "./flags.ts"
import { withWebhookOperator } from "./operator.ts"
import { ownWebhooks } from "./ownWebhooks.ts"
import { tellTrial } from "./tellTrial.ts"

const list = Command.make(
  "list",
  {
    state: Flag.Literals("state", WebhookState.literals).pipe(
      Flag.withDescription("Only messages in this state"),
      Flag.optional
    ),
    json: flags.json
  },
  Effect.fn("webhooks.list")(function* ({ json, state }) {
    const query = Option.isSome(state) ? { state: state.value } : {}
    const { webhooks: found } = yield* withWebhookOperator((operator) => operator.listWebhooks({ query }))
    if (json) return yield* Console.log(JSON.stringify({ webhooks: found }))
    return yield* Console.log(found.length === 0 ? "No messages." : table([heading, ...found.map(rowOf)]))
  })
).pipe(
  Command.withDescription("List messages for the webhook, newest first"),
  Command.withExamples([{ command: "muniment webhooks list --state failed", description: "Given up after three days" }])
)

const resend = Command.make(
  "resend",
  {
    id: Argument.String("id").pipe(Argument.withDescription("Of one message"), Argument.optional),
    failed: Flag.Boolean("failed").pipe(
      Flag.withDescription("All messages that were given up"),
      Flag.withDefault(false)
    ),
    json: flags.json
  },
  Effect.fn("webhooks.resend")(function* ({ failed, id, json }) {
    if (Option.isSome(id) === failed) {
      return yield* new CommandFailed({ reason: "Give the id of one message, or --failed." })
    }
    const payload = Option.isSome(id) ? { webhook: id.value } : {}
    const { resent } = yield* withWebhookOperator((operator) => operator.resendWebhooks({ payload }))
    return yield* Console.log(json ? JSON.stringify({ resent }) : `${resent} messages are sent again.`)
  })
).pipe(
  Command.withDescription("Send messages again, with the same ids"),
  Command.withExamples([{ command: "muniment webhooks resend --failed", description: "After the receiver was mended" }])
)

const test = Command.make(
  "test",
  { json: flags.json },
  Effect.fn("webhooks.test")(function* ({ json }) {
    const { success: _, ...trial } = yield* withWebhookOperator((operator) => operator.testWebhook())
    return yield* tellTrial(trial, json)
  })
).pipe(Command.withDescription("Send a message of type test now; exit code 1 if the webhook does not take it"))

export const webhooks = Command.make("webhooks").pipe(
  Command.withDescription("What the operator's webhook is told of payments; `own`: webhooks of an account"),
  Command.withSubcommands([list, resend, test, ownWebhooks])
)

const heading = ["AT", "ID", "TYPE", "STATE", "ATTEMPTS", "NEXT", "PAYMENT", "REASON"]

const rowOf = (webhook: WebhookRecord): ReadonlyArray<string> => [
  timeText(webhook.createdAt),
  webhook.id,
  webhook.type,
  webhook.state,
  String(webhook.attempts),
  webhook.nextAt === null ? "-" : timeText(webhook.nextAt),
  shownText(webhook.payment),
  shownText(webhook.reason ?? "")
]

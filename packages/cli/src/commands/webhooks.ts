/**
 * `muniment webhooks`: what the operator's webhook was told of payments, and what it has not taken; with `own` webhooks of
 * an account.
 */
import { Console, Effect, Option, Array } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import {
  AccountEventType,
  type HookDelivery,
  type HookRecord,
  HookState,
  type WebhookRecord,
  WebhookState,
  type WebhookTrial
} from "@muniment/domain/Events"
import { CommandFailed } from "../CommandFailed.ts"
import { shownText, table, timeText } from "../Terminal.ts"
import { flags, callerFlags, whereGiven } from "./flags.ts"
import { ask, callerHere, withOperator } from "./clients.ts"

const id = Argument.String("id").pipe(Argument.withDescription("Of a webhook, as `webhooks own list` shows it"))
const types = Flag.Literals("type", AccountEventType.literals).pipe(
  Flag.withDescription("Type of events that are sent; may be given again; default all"),
  Flag.atLeast(0)
)

const listOwn = Command.make(
  "list",
  { ...callerFlags, json: flags.json },
  Effect.fn("webhooks.own.list")(function* ({ json, ...credentials }) {
    const muniment = yield* callerHere(credentials)
    const { webhooks } = yield* ask((signal) => muniment.listHooks({ signal }))
    if (json) return yield* Console.log(JSON.stringify({ webhooks }))
    return yield* Console.log(webhooks.length === 0 ? "No webhooks." : table([hookHeading, ...webhooks.map(hookRow)]))
  })
).pipe(Command.withDescription("List the webhooks of the account that these credentials open"))

const add = Command.make(
  "add",
  {
    target: Argument.String("target").pipe(Argument.withDescription("URL that is sent the events, by https")),
    types,
    agents: Flag.String("agent").pipe(
      Flag.withDescription("Only events of this agent; may be given again"),
      Flag.atLeast(0)
    ),
    ...callerFlags,
    json: flags.json
  },
  Effect.fn("webhooks.own.add")(function* ({ agents, json, target, types, ...credentials }) {
    const muniment = yield* callerHere(credentials)
    const body = {
      url: target,
      ...(types.length > 0 && { types }),
      ...(Array.isReadonlyArrayNonEmpty(agents) && { agents })
    }
    const { secret, webhook } = yield* ask((signal) => muniment.createHook(body, { signal }))
    return yield* Console.log(json ? JSON.stringify({ webhook, secret }) : secretText(webhook, secret))
  })
).pipe(
  Command.withDescription("Add a webhook; it is sent what happens from now on"),
  Command.withExamples([
    {
      command: "muniment webhooks own add https://hooks.example.com/memory --type memory.created",
      description: "Told of new memories"
    }
  ])
)

const change = Command.make(
  "change",
  {
    id,
    target: Flag.String("target").pipe(Flag.withDescription("Another URL"), Flag.optional),
    types,
    state: Flag.Literals("state", HookState.literals).pipe(
      Flag.withDescription("Pause it, or let it go on where it was"),
      Flag.optional
    ),
    ...callerFlags,
    json: flags.json
  },
  Effect.fn("webhooks.own.change")(function* ({ id, json, state, target, types, ...credentials }) {
    const body = { ...whereGiven({ url: target, state }), ...(types.length > 0 && { types }) }
    if (Object.keys(body).length === 0) {
      return yield* new CommandFailed({ reason: "Give --target, --type or --state." })
    }
    const muniment = yield* callerHere(credentials)
    const { webhook } = yield* ask((signal) => muniment.changeHook(id, body, { signal }))
    return yield* Console.log(json ? JSON.stringify({ webhook }) : table([hookHeading, hookRow(webhook)]))
  })
).pipe(Command.withDescription("Change where a webhook leads and what it is sent, pause it or let it go on"))

const remove = Command.make(
  "remove",
  { id, ...callerFlags, json: flags.json },
  Effect.fn("webhooks.own.remove")(function* ({ id, json, ...credentials }) {
    const muniment = yield* callerHere(credentials)
    yield* ask((signal) => muniment.removeHook(id, { signal }))
    return yield* Console.log(json ? JSON.stringify({ removed: id }) : `Webhook ${id} is removed with its messages.`)
  })
).pipe(Command.withDescription("Remove a webhook with all its messages"))

const secret = Command.make(
  "secret",
  { id, ...callerFlags, json: flags.json },
  Effect.fn("webhooks.own.secret")(function* ({ id, json, ...credentials }) {
    const muniment = yield* callerHere(credentials)
    const { secret, webhook } = yield* ask((signal) => muniment.rotateHookSecret(id, { signal }))
    return yield* Console.log(json ? JSON.stringify({ webhook, secret }) : secretText(webhook, secret))
  })
).pipe(Command.withDescription("Replace the secret; for a day messages are signed with the one before, too"))

const testOwn = Command.make(
  "test",
  { id, ...callerFlags, json: flags.json },
  Effect.fn("webhooks.own.test")(function* ({ id, json, ...credentials }) {
    const muniment = yield* callerHere(credentials)
    const { success: _, ...trial } = yield* ask((signal) => muniment.testHook(id, { signal }))
    return yield* tellTrial(trial, json)
  })
).pipe(Command.withDescription("Send a message of type test now; exit code 1 if the webhook does not take it"))

const deliveries = Command.make(
  "deliveries",
  {
    id,
    state: Flag.Literals("state", WebhookState.literals).pipe(
      Flag.withDescription("Only messages in this state"),
      Flag.optional
    ),
    ...callerFlags,
    json: flags.json
  },
  Effect.fn("webhooks.own.deliveries")(function* ({ id, json, state, ...credentials }) {
    const muniment = yield* callerHere(credentials)
    const { deliveries: found } = yield* ask((signal) => muniment.hookDeliveries(id, whereGiven({ state }), { signal }))
    if (json) return yield* Console.log(JSON.stringify({ deliveries: found }))
    return yield* Console.log(found.length === 0 ? "No messages." : table([deliveryHeading, ...found.map(deliveryRow)]))
  })
).pipe(
  Command.withDescription("List messages of a webhook, newest first"),
  Command.withExamples([
    { command: "muniment webhooks own deliveries hook_01 --state failed", description: "Given up after a day" }
  ])
)

const repeat = Command.make(
  "repeat",
  {
    id,
    message: Argument.String("message").pipe(
      Argument.withDescription("One message that was given up; without it all of them"),
      Argument.optional
    ),
    ...callerFlags,
    json: flags.json
  },
  Effect.fn("webhooks.own.repeat")(function* ({ id, json, message, ...credentials }) {
    const muniment = yield* callerHere(credentials)
    const body = whereGiven({ delivery: message })
    const { repeated } = yield* ask((signal) => muniment.repeatDeliveries(id, body, { signal }))
    return yield* Console.log(json ? JSON.stringify({ repeated }) : `${repeated} messages are sent again.`)
  })
).pipe(Command.withDescription("Send messages again that were given up, with the same ids"))

/**
 * `muniment webhooks own`: an account's own webhooks, by one of its keys or its wallet, on any service. A secret is
 * printed once, where it is made.
 */
const ownWebhooks = Command.make("own").pipe(
  Command.withDescription("Webhooks of your own account, with an API key or a wallet"),
  Command.withSubcommands([listOwn, add, change, remove, secret, testOwn, deliveries, repeat])
)

const secretText = (webhook: HookRecord, secret: string): string =>
  `Webhook ${webhook.id}; the secret of its signatures is shown once:\n  ${secret}`

const hookHeading = ["ID", "CREATED", "STATE", "WAIT", "GIVEN UP", "DELIVERED", "URL", "TYPES", "AGENTS", "REASON"]

const hookRow = (hook: HookRecord): ReadonlyArray<string> => [
  hook.id,
  timeText(hook.createdAt),
  hook.state,
  String(hook.pending),
  String(hook.failed),
  hook.deliveredAt === null ? "-" : timeText(hook.deliveredAt),
  shownText(hook.url),
  hook.types.length === AccountEventType.literals.length ? "all" : hook.types.join(", "),
  hook.agents === null ? "all" : shownText(hook.agents.join(", ")),
  shownText(hook.reason ?? "")
]

const deliveryHeading = ["AT", "ID", "TYPE", "STATE", "ATTEMPTS", "NEXT", "AGENT", "REASON"]

const deliveryRow = (delivery: HookDelivery): ReadonlyArray<string> => [
  timeText(delivery.createdAt),
  delivery.id,
  delivery.type,
  delivery.state,
  String(delivery.attempts),
  delivery.nextAt === null ? "-" : timeText(delivery.nextAt),
  shownText(delivery.agentId ?? "-"),
  shownText(delivery.reason ?? "")
]

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
    const query = whereGiven({ state })
    const { webhooks: found } = yield* withOperator(({ webhooks }) => webhooks.listWebhooks({ query }))
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
    const payload = whereGiven({ webhook: id })
    const { resent } = yield* withOperator(({ webhooks }) => webhooks.resendWebhooks({ payload }))
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
    const { success: _, ...trial } = yield* withOperator(({ webhooks }) => webhooks.testWebhook())
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

/**
 * Prints the outcome of a message of type `test`, of the operator's webhook or an account's.
 *
 * Fails if the message was not taken.
 */
const tellTrial = Effect.fnUntraced(function* (trial: WebhookTrial, json: boolean) {
  yield* Console.log(json ? JSON.stringify(trial) : `${trial.reason ?? "delivered"}, after ${trial.tookMillis} ms`)
  if (!trial.delivered) return yield* new CommandFailed({ reason: "The webhook did not take the message." })
})

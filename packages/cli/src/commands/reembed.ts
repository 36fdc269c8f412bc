/**
 * `muniment reembed`: gives every memory a vector of the configured model. The service does it in
 * the background and resumes after a stop; this command starts it and shows its progress.
 */
import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import type { ReembedProgress } from "@muniment/domain/api/AdminApi"
import { CommandFailed } from "../CommandFailed.ts"
import { makeProgress } from "../Progress.ts"
import { flags } from "./flags.ts"
import { type Operator, settledStatus, withOperator } from "./operator.ts"

const pollMillis = 500
/** Polls without a new vector after which the command gives up: one minute. */
const idlePollsMax = 120

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

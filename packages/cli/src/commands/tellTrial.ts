/** Prints the outcome of a message of type `test`, of the operator's webhook or an account's. */
import { Console, Effect } from "effect"
import type { WebhookTrial } from "@muniment/domain/Webhooks"
import { CommandFailed } from "../CommandFailed.ts"

/** Fails if the message was not taken. */
export const tellTrial = Effect.fnUntraced(function* (trial: WebhookTrial, json: boolean) {
  yield* Console.log(json ? JSON.stringify(trial) : `${trial.reason ?? "delivered"}, after ${trial.tookMillis} ms`)
  if (!trial.delivered) return yield* new CommandFailed({ reason: "The webhook did not take the message." })
})

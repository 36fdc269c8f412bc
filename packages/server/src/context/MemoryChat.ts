/**
 * One turn of a chat with the configured language model, with the context that an agent would be handed (contract:
 * Context): for the console's playground. It stores nothing, and a call without a reply costs nothing but tokens that
 * were used.
 */
import { Context, Effect, Layer } from "effect"
import type { ChargeFailure, PricedCall } from "@muniment/domain/api/Middleware"
import type { ChatAnswer, ChatRequest } from "@muniment/domain/Context"
import { Conflict, InvalidRequest } from "@muniment/domain/Errors"
import { toCredits } from "@muniment/domain/Money"
import { spentOn } from "@muniment/domain/StageTimes"
import { traced } from "@muniment/domain/traced"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import { ChatPartner } from "@muniment/insight/answers/ChatPartner"
import { TokenCosts, TokenNamespace } from "../credits/ChargedCalls.ts"
import { plainConversation } from "../extraction/ConversationMessages.ts"
import { modelRefusal } from "../extraction/extractInTime.ts"
import { MemoryContext } from "./MemoryContext.ts"

export class MemoryChat extends Context.Service<
  MemoryChat,
  {
    readonly chat: (call: PricedCall, request: ChatRequest) => Effect.Effect<ChatAnswer, InvalidRequest | ChargeFailure>
  }
>()("muniment/server/MemoryChat") {
  static readonly layer = Layer.effect(
    this,
    Effect.gen(function* () {
      const contexts = yield* MemoryContext
      const partner = yield* ChatPartner
      const directory = yield* NamespaceDirectory
      const chat = traced("MemoryChat.chat")(function* (call: PricedCall, request: ChatRequest) {
        const { model, reply } = partner
        if (reply === undefined) return yield* noModel
        const { messages } = plainConversation(request.messages)
        const turns = messages.filter(({ role }) => role === "user" || role === "assistant")
        if (turns.at(-1)?.role !== "user") return yield* notTheirs
        const context = yield* contexts.context(call, { ...request, scope: "own" }, undefined)
        const costs = yield* TokenCosts
        const before = costs.micro
        const { account } = call.caller
        const asked = { account: account.id, remembered: context.text ?? "", turns }
        const ask = spentOn("answering", reply(asked)).pipe(
          Effect.provideService(
            TokenNamespace,
            request.agentId === undefined ? undefined : directory.find(account.id, request.agentId)?.tag
          )
        )
        const said = yield* ask.pipe(
          Effect.catchTag("ModelFailure", (failure) =>
            failure.reason === "unpaid" ? Effect.andThen(call.topUp, ask) : Effect.fail(failure)
          ),
          Effect.catchTag("ModelFailure", (failure) =>
            modelRefusal(failure, {
              code: "model_unavailable",
              error: `there is no reply: ${failure.message}; nothing was charged for the call`
            })
          )
        )
        return {
          reply: said,
          model,
          modelCredits: toCredits(costs.micro - before),
          context
        } satisfies ChatAnswer
      })
      return { chat }
    })
  )
}

const noModel = new Conflict({
  code: "no_language_model",
  error: "there is no language model to chat with: set MUNIMENT_LLM_PROVIDER"
})

const notTheirs = new InvalidRequest({
  code: "invalid_request",
  error: "`messages` ends with a turn of the user, which is replied to",
  details: [{ path: "messages", message: "the last message with a text is not the user's" }]
})

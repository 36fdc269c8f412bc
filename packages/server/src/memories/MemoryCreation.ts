/**
 * POST /memories, in both its modes (specification section 4.1): direct memories are stored as they are,
 * conversations are read by the extractor. REST and MCP answer with what stands here.
 */
import { Context, Effect, Layer } from "effect"
import type { ChargeFailure, IdempotencyToken } from "@muniment/domain/api/Middleware"
import type { InvalidRequest, NotFound, RateLimited } from "@muniment/domain/Errors"
import type { CreatedMemories, CreateMemories } from "@muniment/domain/Memory"
import { ConversationExtraction } from "../extraction/ConversationExtraction.ts"
import { MemoryService } from "./MemoryService.ts"
import { memoryEntry } from "./MemoryViews.ts"

export class MemoryCreation extends Context.Service<
  MemoryCreation,
  {
    readonly create: (
      account: string,
      request: CreateMemories,
      token: IdempotencyToken | undefined
    ) => Effect.Effect<CreatedMemories, InvalidRequest | NotFound | RateLimited | ChargeFailure>
  }
>()("muniment/server/MemoryCreation") {
  static readonly layer = Layer.effect(
    this,
    Effect.gen(function* () {
      const service = yield* MemoryService
      const { extract } = yield* ConversationExtraction

      const create = Effect.fn("MemoryCreation.create")(function* (
        account: string,
        request: CreateMemories,
        token: IdempotencyToken | undefined
      ) {
        const { conversation, memories } = request
        if (conversation !== undefined) return yield* extract(account, { ...request, conversation }, token)
        const reply = yield* service.create(account, { ...request, memories: memories ?? [] }, token)
        return { created: reply.created.map(memoryEntry), updated: reply.updated.map(memoryEntry) }
      })

      return { create }
    })
  )
}

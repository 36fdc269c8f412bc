/**
 * A reading that stores nothing (contract: Conversations): the messages as the beginning of a conversation, the reader
 * of the service, the checks of a candidate's data. Not compared with stored memories, and no message counts as read.
 */
import { Clock, Effect } from "effect"
import type { ChargeFailure, PricedCall } from "@muniment/domain/api/Middleware"
import type { InvalidRequest } from "@muniment/domain/Errors"
import type { ExtractedMemories, ExtractMemories } from "@muniment/domain/Memory"
import { todayIn } from "@muniment/language/calendar/SpokenDates"
import { type ExtractionRequest, Extractor } from "@muniment/insight/extraction/Extractor"
import { SchemaValidator } from "@muniment/schemas/SchemaValidator"
import { KnownKinds, candidateKinds } from "../memories/KnownKinds.ts"
import { idsOfSources, judgeCandidates, rejection } from "./CandidateJudge.ts"
import { keyedMessages, plainConversation, turnOf } from "./ConversationMessages.ts"
import { extractInTime, refused, readBoth } from "./extractInTime.ts"
import { told } from "./ThreadReading.ts"

export type ReadingTrial = (
  call: PricedCall,
  request: ExtractMemories
) => Effect.Effect<ExtractedMemories, InvalidRequest | ChargeFailure>

/** `instructions`: of the installation. */
export const makeReadingTrial = Effect.fnUntraced(function* (deadlineMillis: number, instructions?: string) {
  const extractor = yield* Extractor
  const kinds = yield* KnownKinds
  const validator = yield* SchemaValidator
  return Effect.fn("ReadingTrial.read")(function* (call: PricedCall, request: ExtractMemories) {
    const account = call.caller.account.id
    const schemas = yield* candidateKinds(account, request, kinds)
    const { timeZone } = request
    const messages = keyedMessages(plainConversation(request.conversation).messages, request.schemas, timeZone)
    const conversationDate = request.conversationDate ?? todayIn(timeZone, yield* Clock.currentTimeMillis)
    yield* call.reserve()
    const asked: ExtractionRequest = {
      account,
      kinds: [...schemas.values()],
      messages: messages.map(turnOf),
      context: [],
      summary: undefined,
      conversationDate,
      instructions: told([instructions, call.caller.account.instructions, request.instructions])
    }
    const extract = extractInTime(extractor, deadlineMillis, asked, (one) => readBoth(extractor, one))
    const { candidates, dropped } = yield* extract.pipe(
      Effect.catchTag("ModelFailure", (failure) =>
        failure.reason === "unpaid" ? Effect.andThen(call.topUp, extract) : Effect.fail(failure)
      ),
      Effect.catchTag("ModelFailure", refused)
    )
    const { accepted, rejected } = yield* judgeCandidates(account, candidates, messages, schemas, validator)
    return {
      found: accepted.map(({ candidate: { confidence, kind, mentions, sources, when }, data }) => ({
        kind,
        data,
        confidence,
        ...(when !== undefined && { when }),
        mentions,
        sourceMessageIds: idsOfSources(messages, sources)
      })),
      rejected: [...dropped.map((one) => rejection(one, messages, one.reason, one.message)), ...rejected]
    }
  }) satisfies ReadingTrial
})

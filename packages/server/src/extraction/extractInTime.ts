/**
 * Deadline around the extractor, and the refusal of a caller who wanted nothing but what a model says (contract:
 * Conversations). A failure that may pass says when to retry.
 *
 * Invariants: the deadline counts from the moment the extractor can begin, so no start is taken for a conversation that
 * is too long; a refusal names a language model only where one was asked.
 */
import { Effect } from "effect"
import { InvalidRequest, RateLimited, Unavailable } from "@muniment/domain/Errors"
import { spentOn } from "@muniment/domain/StageTimes"
import { isFactKind } from "@muniment/schemas/BuiltinKinds"
import type { ExtractionRequest, Extractor, Candidate, Extraction } from "@muniment/insight/extraction/Extractor"
import { ModelFailure } from "@muniment/models/llm/ModelFailure"
import { boundMet } from "../boundMet.ts"
import { retryAfter } from "../headers.ts"
import { statementOf } from "./KnownMemories.ts"

const lateRetrySeconds = 1

export const extractInTime = <A>(
  extractor: Extractor["Service"],
  deadlineMillis: number,
  request: ExtractionRequest,
  extract: (request: ExtractionRequest) => Effect.Effect<A, ModelFailure>
) =>
  spentOn(
    "reading",
    Effect.andThen(
      extractor.ready(request.account),
      Effect.timeoutOrElse(extract(request), {
        duration: deadlineMillis,
        orElse: () => Effect.flatMap(extractor.underWay(request.account), lateBy)
      })
    )
  )

/** Only the rules read one conversation after the other. */
const lateBy = (underWay: number | undefined) =>
  Effect.fail(
    new ModelFailure({
      by: underWay === undefined ? undefined : "rules",
      reason: "timeout",
      message: "reading it took too long",
      retryAfterSeconds: lateRetrySeconds
    })
  )

export const refused = (failure: ModelFailure) =>
  modelRefusal(failure, {
    code: "extraction_unavailable",
    error: `the conversation could not be read: ${failure.message}; nothing was stored, marked or charged`
  })

/** `told`: code and text of the answer where the failure may pass. */
export const modelRefusal = Effect.fnUntraced(function* (
  { by, message, reason, retryAfterSeconds }: ModelFailure,
  told: Pick<Unavailable, "code" | "error">
) {
  if (retryAfterSeconds !== undefined) yield* retryAfter(retryAfterSeconds)
  if (reason === "too_long") return yield* new InvalidRequest({ code: "invalid_request", error: message })
  const details = yield* boundMet(`${by ?? "model"}_${reason}`, message, retryAfterSeconds)
  if (reason === "budget_exhausted") {
    return yield* new RateLimited({ code: "model_budget_exhausted", error: message, details })
  }
  return yield* new Unavailable({ ...told, details })
})

/**
 * A reading by rules and by a model whose results are stored together: the model is shown what rules found as known, and
 * what it replaces of that is left out, and so is what a message tells that is not to be kept.
 */
export const readBoth = Effect.fn("readBoth")(function* (
  { extract, extractAtOnce }: Extractor["Service"],
  asked: ExtractionRequest
) {
  const early = extractAtOnce === undefined ? undefined : yield* extractAtOnce(asked)
  if (early === undefined) return yield* extract(asked)
  const found = new Map(early.candidates.map((candidate, at) => [`rules ${at}`, candidate]))
  const own = Array.from(found, ([id, candidate]) => ({
    id,
    ...statementOf(candidate),
    isOpen: isFactKind(candidate.kind)
  }))
  const known: ExtractionRequest["known"] = (texts) =>
    Effect.map(asked.known?.(texts) ?? Effect.succeed([]), (stored) => [...own, ...stored])
  const extraction = yield* extract({ ...asked, known })
  const withheld = new Set(extraction.withheld)
  const isWithheld = ({ sources }: Candidate) => sources.some((source) => withheld.has(source))
  const replaced = new Set<string>()
  const inPlace = new Map<Candidate, Candidate>()
  for (const candidate of extraction.candidates) {
    const { supersedes, ...rest } = candidate
    if (typeof supersedes === "object") {
      const before = inPlace.get(supersedes)
      if (before !== undefined) inPlace.set(candidate, { ...rest, supersedes: before })
      continue
    }
    const ofRules = supersedes === undefined ? undefined : found.get(supersedes)
    if (supersedes === undefined || ofRules === undefined) inPlace.set(candidate, candidate)
    // The words of what is withheld are carried on by nothing; of two in one place the second would end the first.
    else if (!isWithheld(ofRules))
      inPlace.set(candidate, { ...rest, slot: replaced.has(supersedes) ? undefined : ofRules.slot })
    if (supersedes !== undefined) replaced.add(supersedes)
  }
  return {
    ...extraction,
    candidates: [
      ...Array.from(found).flatMap(([id, one]) => (replaced.has(id) || isWithheld(one) ? [] : [one])),
      ...inPlace.values()
    ],
    dropped: [...early.dropped, ...extraction.dropped],
    summary: early.summary
  } satisfies Extraction
})

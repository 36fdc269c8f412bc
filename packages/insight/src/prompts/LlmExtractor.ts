/**
 * Extraction by the configured language model: one fenced prompt for each window of the conversation and each group of
 * kinds, in parallel; `CandidateChecks` filters the answers.
 *
 * Invariants: one failed call fails the whole extraction, so nothing is asked where the account cannot pay for all; no
 * candidate without a quote from a new message; every dropped candidate is reported. The model's own deadline applies.
 */
import { Effect, Layer } from "effect"
import { Limits } from "@muniment/domain/Limits"
import { ModelFailure, StructuredModel } from "@muniment/models/llm/StructuredModel"
import type { StructuredRequest } from "@muniment/models/llm/StructuredRequest"
import {
  type Candidate,
  dayOfTurn,
  type DroppedCandidate,
  type Extraction,
  type ExtractionRequest,
  Extractor,
  summaryLengthMax
} from "../extraction/Extractor.ts"
import { judge, type Shown } from "./CandidateChecks.ts"
import { clippedText } from "./ClippedJson.ts"
import { type ConversationWindow, conversationWindows, halvesOf } from "./ConversationWindows.ts"
import { type DateSupport, makeDateSupport } from "./DateSupport.ts"
import {
  extractionPrompt,
  extractionPromptVersion,
  extractionSystem,
  extractionTokensMax,
  WireExtraction,
  type WireExtraction as WireResult
} from "./ExtractionPrompt.ts"
import { drawFence } from "./Fence.ts"
import { instructionPieces, isInstruction } from "./InstructionText.ts"
import { kindGroups, type PromptKind, promptKind } from "./PromptKinds.ts"
import { makeShownText } from "./Support.ts"
import { visibleLine } from "../text/VisibleText.ts"

/** Windows x groups of kinds; more calls would not finish within a request. */
const callsPerExtractionMax = 16
/** Parallel calls of one extraction, so that others get the model too. */
const callsAtOnceMax = 4
/** Bound of one commit; beyond it the candidates with the least confidence are dropped. */
const candidatesMax = Limits.memoriesPerRequestMax

export const LlmExtractor = {
  layer: Layer.effect(
    Extractor,
    Effect.gen(function* () {
      const model = yield* StructuredModel
      const dates = makeDateSupport()
      const extract = Effect.fn("LlmExtractor.extract")(function* (request: ExtractionRequest) {
        yield* Effect.annotateCurrentSpan({ promptVersion: extractionPromptVersion })
        const parts = partsOf(request)
        if (parts.length > callsPerExtractionMax) return yield* tooLong
        const asked = yield* Effect.forEach(parts, (part) => askedFor(request, part))
        if (asked.length > 1) yield* model.afford(asked)
        const read = yield* Effect.forEach(parts, (part, at) => readInParts(model, request, part, asked[at]!), {
          concurrency: callsAtOnceMax
        })
        if (read.flat().length === 0) return yield* cutOff
        return yield* merged(read.flat(), request, dates)
      })
      // A model's server reads several conversations at once.
      return {
        name: model.name,
        extract,
        ready: () => Effect.void,
        underWay: () => Effect.undefined,
        untilFree: () => Effect.void
      }
    })
  )
}

/** One call of the model. */
interface Part {
  readonly window: ConversationWindow
  readonly kinds: ReadonlyArray<PromptKind>
  /** Only the first group of kinds of a window writes its summary. */
  readonly isFirstOfWindow: boolean
}

const partsOf = (request: ExtractionRequest): ReadonlyArray<Part> => {
  const groups = kindGroups(request.kinds.map(promptKind))
  return conversationWindows(request).flatMap((window) =>
    groups.map((kinds, index) => ({ window, kinds, isFirstOfWindow: index === 0 }))
  )
}

const tooLong = new ModelFailure({
  reason: "too_long",
  message: `The conversation and its kinds need more than ${callsPerExtractionMax} calls of the model; send fewer messages or name fewer schemas.`
})

const askedFor = Effect.fnUntraced(function* (request: ExtractionRequest, part: Part) {
  const fence = yield* drawFence
  return {
    account: request.account,
    purpose: "extraction",
    system: extractionSystem,
    prompt: extractionPrompt(fence, part.kinds, request, part.window, request.summary),
    schema: WireExtraction,
    schemaName: "extraction",
    outputTokensMax: extractionTokensMax
  } satisfies StructuredRequest<WireResult>
})

interface ReadPart extends Part {
  readonly answer: WireResult
}

/** A reply that was cut off is not asked for again as it was: its window is read in halves, down to one short message. */
const readInParts = (
  model: StructuredModel["Service"],
  request: ExtractionRequest,
  part: Part,
  asked: StructuredRequest<WireResult>
): Effect.Effect<ReadonlyArray<ReadPart>, ModelFailure> =>
  Effect.map(model.generate(asked), (answer): ReadonlyArray<ReadPart> => [{ ...part, answer }]).pipe(
    Effect.catchTag("ModelFailure", (failure) => {
      if (failure.reason !== "truncated") return failure
      const halves = halvesOf(part.window)
      if (halves === undefined) return Effect.as(unreadable, [])
      return Effect.map(
        Effect.forEach(halves, (window) => {
          const half = { ...part, window }
          return Effect.flatMap(askedFor(request, half), (one) => readInParts(model, request, half, one))
        }),
        (read) => read.flat()
      )
    })
  )

const cutOff = new ModelFailure({
  reason: "truncated",
  message: "the language model's reply reached the maximum length at each message, however few it was shown"
})

const unreadable = Effect.logWarning(
  "the language model's reply to a single message did not end: nothing of it is remembered but the message"
)

/** Yields between pieces of work, so that a long conversation does not block other requests. */
const merged = Effect.fnUntraced(function* (
  parts: ReadonlyArray<ReadPart>,
  request: ExtractionRequest,
  dates: DateSupport
): Effect.fn.Return<Extraction> {
  const found = new Map<string, Candidate>()
  const dropped: Array<DroppedCandidate> = []
  for (const part of parts) {
    const { memories } = part.answer
    if (memories.length === 0) continue
    const shown = yield* shownOf(part, request, dates)
    for (const wire of memories) {
      yield* Effect.yieldNow
      const judgement = judge(wire, shown)
      if ("dropped" in judgement) dropped.push(judgement.dropped)
      else addCandidate(found, judgement.candidate)
    }
  }
  // A stable sort: of equal confidence, earlier ones stay.
  const ranked = [...found.values()].sort((a, b) => b.confidence - a.confidence)
  const kept = new Set(ranked.slice(0, candidatesMax))
  const message = `only the ${candidatesMax} surest candidates of a request are kept`
  dropped.push(
    ...ranked
      .slice(candidatesMax)
      .map(({ kind, data, sources }) => ({ kind, data, sources, reason: "low_confidence" as const, message }))
  )
  const summaries = parts.filter(({ isFirstOfWindow }) => isFirstOfWindow).map(({ answer }) => answer.summary)
  return {
    candidates: [...found.values()].filter((candidate) => kept.has(candidate)),
    dropped,
    summary: joinedSummary(summaries) ?? request.summary
  }
})

/** Merges equal candidates of two windows; the result has the sources of both. */
const addCandidate = (found: Map<string, Candidate>, candidate: Candidate): void => {
  const key = JSON.stringify([candidate.kind, candidate.data])
  const known = found.get(key)
  const sources = [...new Set([...(known?.sources ?? []), ...candidate.sources])].sort((a, b) => a - b)
  const confidence = Math.max(known?.confidence ?? 0, candidate.confidence)
  found.set(key, { ...candidate, sources, confidence })
}

const shownOf = Effect.fnUntraced(function* (
  { window, kinds }: Part,
  request: ExtractionRequest,
  dates: DateSupport
): Effect.fn.Return<Shown> {
  const messages = new Map<number, string>()
  for (const { number, content } of window.pieces) messages.set(number, `${messages.get(number) ?? ""}${content}`)
  const days = new Map(window.pieces.map((piece) => [piece.number, dayOfTurn(piece, request.conversationDate)]))
  const ordering = new Set<number>()
  for (const [number, content] of messages) if (yield* givesOrders(content)) ordering.add(number)
  const believed = [...messages].flatMap(([number, content]) => (ordering.has(number) ? [] : [content]))
  const names = [...window.pieces, ...window.context].flatMap(({ name }) => name ?? [])
  const earlier = [...window.context.map(({ content }) => content), request.summary ?? "", ...new Set(names)]
  for (const text of earlier) if (!(yield* givesOrders(text))) believed.push(text)
  const lastBefore = window.context.at(-1)?.content ?? ""
  return {
    kinds: new Map(kinds.map((kind) => [kind.kind.name, kind])),
    messages,
    ordering,
    turnBefore: (number) => messages.get(number - 1) ?? lastBefore,
    everything: makeShownText(believed),
    dayOf: (number) => days.get(number) ?? request.conversationDate,
    dates
  }
})

const givesOrders = Effect.fnUntraced(function* (text: string): Effect.fn.Return<boolean> {
  for (const piece of instructionPieces(text)) {
    yield* Effect.yieldNow
    if (isInstruction(piece)) return true
  }
  return false
})

/**
 * Joins the windows' summaries in order, each with its share of the length. A summary that gives orders is dropped: it
 * would reappear in every later prompt.
 */
const joinedSummary = (summaries: ReadonlyArray<string>): string | undefined => {
  const share = Math.floor(summaryLengthMax / Math.max(1, summaries.length)) - 1
  const joined = summaries
    .map((summary) => clippedText(summary, share))
    .filter((summary) => !isInstruction(summary))
    .map(visibleLine)
    .filter((summary) => summary !== "")
    .join(" ")
  return joined === "" || isInstruction(joined) ? undefined : joined
}

/**
 * Extraction by the configured language model beside the rules: what rules read is stored at once, then the model reads
 * window after window, each with what is known of its matter, and adds, replaces and ends. `CandidateChecks` filters its
 * replies; what a check finds is put to the model once.
 *
 * Invariants: one failed call fails the whole extraction, so nothing is asked where the account cannot pay for a first
 * reading of all; no candidate without a quote from a new message; every dropped candidate is reported; a window whose reply
 * was cut off or came too late is not sent again as it was, by a later attempt of the reading either.
 */
import { Clock, Effect, Hash, Layer } from "effect"
import { Limits } from "@muniment/domain/Limits"
import { StructuredModel } from "@muniment/models/llm/StructuredModel"
import { ModelFailure } from "@muniment/models/llm/ModelFailure"
import type { StructuredRequest } from "@muniment/models/llm/LanguageModelConfig"
import { estimatedTokens } from "@muniment/models/llm/ModelBudget"
import { type JsonSchema, jsonSchemaOf, sentAs } from "@muniment/models/llm/WireFormat"
import { tokenize } from "@muniment/language/text/Tokenizer"
import {
  type Candidate,
  dayOfTurn,
  type DroppedCandidate,
  type Extraction,
  type ExtractionRequest,
  Extractor,
  type ReadingEstimate,
  type Turn
} from "../extraction/Extractor.ts"
import { makeRuleExtractor } from "../rules/RuleExtractor.ts"
import { boundedForm, kindGroups, promptKind, type PromptKind } from "./PromptKinds.ts"
import {
  judgeMemory,
  judgeRecord,
  type Judgement,
  type Shown,
  type ShownMessage,
  withheldBy
} from "./CandidateChecks.ts"
import { clippedText } from "@muniment/language/text/VisibleText"
import {
  type ConversationWindow,
  conversationWindows,
  halvesOf,
  writtenTokensPerMessage
} from "./ConversationWindows.ts"
import { type DateSupport, dateSupport } from "@muniment/language/calendar/DateSupport"
import {
  boundedExtraction,
  extractionPrompt,
  extractionPromptVersion,
  extractionSystem,
  extractionTokensMax,
  isFlat,
  namesShown,
  repairPrompt,
  WireExtraction,
  type WireMemory
} from "./ExtractionPrompt.ts"
import { drawFence, type Fence } from "./Fence.ts"
import { instructionPieces, isInstruction } from "./InstructionText.ts"
import { makeShownText } from "./Support.ts"

/** Windows x groups of kinds; more would take too long, even in the background. */
const callsPerExtractionMax = 16
/** Bound of one commit; what was found behind it is dropped. */
const candidatesMax = Limits.memoriesPerRequestMax
/** Characters of messages, context and what is known in a prompt; what the former two leave is for the latter. */
const windowLengthAimed = 4_000
const knownLengthMin = 1_000
/** A text that is cut would lose its end where it is replaced. */
const knownTextLengthMax = 400
/** Windows that are remembered as too large. */
const tooLargeMax = 1_000
/** Repeated complaints are a line of the log this often. */
const toldEachMillis = 60_000
/** Most memories shown of the same extraction: the latest with words of the window. */
const ownKnownMax = 8

export interface ExtractionChecks {
  /** For weak models (`CandidateChecks.ts`). */
  readonly isStrict: boolean
}

export const LlmExtractor = {
  layer: ({ isStrict }: ExtractionChecks = { isStrict: false }) =>
    Layer.effect(
      Extractor,
      Effect.gen(function* () {
        const model = yield* StructuredModel
        const rules = yield* makeRuleExtractor()
        const dates = dateSupport()
        const tooLarge = new Set<number>()
        let toldMillis = -Infinity
        const tellEndless = Effect.flatMap(Clock.currentTimeMillis, (now) => {
          if (now - toldMillis < toldEachMillis) return Effect.void
          toldMillis = now
          return Effect.logWarning(endless.message)
        })
        const extract = Effect.fn("LlmExtractor.extract")(function* (request: ExtractionRequest) {
          yield* Effect.annotateCurrentSpan({ promptVersion: extractionPromptVersion })
          const parts = partsOf(request)
          if (parts.length > callsPerExtractionMax) return yield* tooLong
          const fence = yield* drawFence
          const names = request.names === undefined ? [] : yield* request.names
          if (parts.length > 1)
            yield* model.afford(parts.map((part) => askedFor(request, part, fence, { known: [], names })))
          const reading: Reading = {
            model,
            request,
            names,
            dates,
            isStrict,
            tooLarge,
            tellEndless,
            found: [],
            dropped: [],
            withheld: new Set(),
            leftOut: new Set(),
            endless: new Set()
          }
          for (const part of parts) yield* readPart(reading, part)
          // The reading is over: who wants the message read once more wants it asked for.
          for (const hash of reading.endless) tooLarge.delete(hash)
          return extractionOf(reading)
        })
        return {
          name: model.name,
          problem: model.problem,
          extract,
          extractAtOnce: rules.extract,
          estimate: (request) => Effect.map(drawFence, (fence) => estimateOf(request, fence)),
          ready: rules.ready,
          // A model's server reads several conversations at once.
          underWay: () => Effect.undefined,
          untilFree: () => Effect.void
        }
      })
    )
}

/** One call of the model. */
interface Part {
  readonly window: ConversationWindow
  /** Registered ones. */
  readonly kinds: ReadonlyArray<PromptKind>
  /** Built-in ones, in the flat form: of the first group of a window. */
  readonly flatKinds: ReadonlyArray<PromptKind>
}

const partsOf = (request: ExtractionRequest): ReadonlyArray<Part> => {
  const kinds = request.kinds.map(promptKind)
  const flatKinds = kinds.filter(({ kind: { name } }) => isFlat(new Set([name])))
  const groups = kindGroups(kinds.filter((kind) => !flatKinds.includes(kind)))
  const all = groups.length === 0 ? [[]] : groups
  return conversationWindows(request).flatMap((window) =>
    all.map((group, index) => ({ window, kinds: group, flatKinds: index === 0 ? flatKinds : [] }))
  )
}

/** As its prompts are counted for the budget, filled up with what is known, and what is usually written. */
const estimateOf = (request: ExtractionRequest, fence: Fence): ReadingEstimate => {
  const parts = partsOf(request)
  const inputTokens = parts.map((part) => {
    const { prompt, schema, system } = askedFor(request, part, fence, { known: [], names: [] })
    return estimatedTokens([system, prompt, JSON.stringify(jsonSchemaOf(schema)), " ".repeat(knownRoom(part.window))])
  })
  const pieces = parts.reduce((sum, { window }) => sum + window.pieces.length, 0)
  return {
    calls: parts.length,
    inputTokens: inputTokens.reduce((sum, tokens) => sum + tokens, 0),
    outputTokens: pieces * writtenTokensPerMessage
  }
}

const tooLong = new ModelFailure({
  reason: "too_long",
  message: `The conversation and its kinds need more than ${callsPerExtractionMax} calls of the model; send fewer messages or name fewer schemas.`
})

/** State of an extraction. */
interface Reading {
  readonly model: StructuredModel["Service"]
  readonly request: ExtractionRequest
  /** Whom memories are about. */
  readonly names: ReadonlyArray<string>
  readonly dates: DateSupport
  readonly isStrict: boolean
  /** Windows that are read in halves, by `hashOf`; of all readings. */
  readonly tooLarge: Set<number>
  readonly tellEndless: Effect.Effect<void>
  readonly found: Array<Candidate>
  readonly dropped: Array<DroppedCandidate>
  /** Numbers of messages. */
  readonly withheld: Set<number>
  /** Numbers of messages whose reply did not end. */
  readonly leftOut: Set<number>
  /** Their windows, by `hashOf`. */
  readonly endless: Set<number>
}

/** A line of KNOWN with what it stands for. */
interface Known {
  /** Undefined: it may not be replaced. */
  readonly target: string | Candidate | undefined
  readonly about: string
  readonly text: string
}

type Asked = StructuredRequest<WireExtraction>

const askedFor = (
  request: ExtractionRequest,
  { flatKinds, kinds, window }: Part,
  fence: Fence,
  { known, names }: { readonly known: ReadonlyArray<Known>; readonly names: ReadonlyArray<string> }
): Asked => ({
  account: request.account,
  purpose: "extraction",
  system: kinds.length === 0 ? extractionSystem.plain : extractionSystem.withRecords,
  prompt: extractionPrompt(fence, request, {
    kinds,
    window,
    names,
    known: known.map(({ target, text }, at) => ({ ...(target !== undefined && { id: idOf(at) }), text }))
  }),
  schema: wireFor(flatKinds.length > 0, kinds),
  schemaName: "extraction",
  outputTokensMax: extractionTokensMax
})

const idOf = (at: number): string => `k${at + 1}`

const readPart = (reading: Reading, part: Part): Effect.Effect<void, ModelFailure> =>
  Effect.gen(function* () {
    const { model, names, request, tooLarge } = reading
    if (tooLarge.has(hashOf(part))) return yield* readHalves(reading, part)
    const known = yield* knownFor(reading, part.window)
    const fence = yield* drawFence
    const asked = askedFor(request, part, fence, { known, names })
    const reply = yield* model.generate(asked).pipe(
      Effect.catchTag("ModelFailure", (failure) => {
        const isTooLarge = failure.reason === "timeout" && part.window.pieces.length > 1
        if (failure.reason !== "truncated" && !isTooLarge) return failure
        if (tooLarge.size === tooLargeMax) tooLarge.clear()
        tooLarge.add(hashOf(part))
        return Effect.as(readHalves(reading, part), undefined)
      })
    )
    if (reply === undefined) return
    const shown = yield* shownTo(reading, part, known)
    const faulty = yield* keep(reading, reply, shown, known)
    if (faulty.length === 0) return
    const corrected = yield* model
      .generate({
        ...asked,
        prompt: repairPrompt(
          fence,
          asked.prompt,
          faulty.map(({ wire }) => wire),
          faulty.map(({ dropped }) => dropped.message)
        )
      })
      .pipe(
        // What stands is kept all the same.
        Effect.catchTag("ModelFailure", ({ reason }) =>
          Effect.as(Effect.logDebug(`no correction of a reading: ${reason}`), noReply)
        )
      )
    const left = yield* keep(reading, { memories: corrected.memories ?? [] }, shown, known)
    const isLeft = corrected === noReply ? faulty : left
    reading.dropped.push(...isLeft.map(({ dropped }) => dropped))
  })

const noReply: WireExtraction = {}

/** Of two that are taken for one the other is read in halves for nothing. */
const hashOf = ({ flatKinds, kinds, window }: Part): number =>
  Hash.string(JSON.stringify([flatKinds.length, kinds.map(({ kind }) => kind.name), window.pieces]))

/** Down to one short message. */
const readHalves = (reading: Reading, part: Part): Effect.Effect<void, ModelFailure> => {
  const halves = halvesOf(part.window)
  return halves === undefined
    ? leaveOut(reading, part)
    : Effect.forEach(halves, (window) => readPart(reading, { ...part, window }), { discard: true })
}

const leaveOut = ({ endless: windows, leftOut, tellEndless }: Reading, part: Part) => {
  windows.add(hashOf(part))
  for (const { number } of part.window.pieces) leftOut.add(number)
  return tellEndless
}

const endless = new ModelFailure({
  reason: "truncated",
  message:
    "the language model's reply to a single message did not end: nothing of it is remembered but the message and what rules read in it; switch its thinking off or take another model, then npm run muniment -- reread"
})

interface Faulty {
  readonly wire: WireMemory
  readonly dropped: DroppedCandidate
}

/** Keeps what stands, and answers what may be corrected. Yields between pieces of work, so that others go on. */
const keep = Effect.fnUntraced(function* (
  reading: Reading,
  { memories = [], records = [], withhold = [] }: WireExtraction,
  shown: Shown,
  known: ReadonlyArray<Known>
) {
  const faulty: Array<Faulty> = []
  for (const wire of memories) {
    yield* Effect.yieldNow
    const judgement = judgeMemory(wire, shown)
    if ("dropped" in judgement && judgement.isRepairable) faulty.push({ wire, dropped: judgement.dropped })
    else settle(reading, judgement, known)
  }
  for (const wire of records) {
    yield* Effect.yieldNow
    settle(reading, judgeRecord(wire, shown), known)
  }
  for (const wire of withhold) for (const number of withheldBy(wire, shown)) reading.withheld.add(number)
  return faulty
})

const settle = ({ dropped, found }: Reading, judgement: Judgement, known: ReadonlyArray<Known>): void => {
  if ("dropped" in judgement) {
    dropped.push(judgement.dropped)
    return
  }
  const { candidate, replaces } = judgement
  const content = JSON.stringify([candidate.kind, candidate.data])
  if (found.some(({ data, kind }) => JSON.stringify([kind, data]) === content)) return
  const supersedes = known.find((_, at) => idOf(at) === replaces)?.target
  found.push(supersedes === undefined ? candidate : { ...candidate, supersedes })
}

const extractionOf = ({ dropped, found, leftOut, withheld }: Reading): Extraction => {
  // A candidate that replaces another carries its words on.
  const isWithheld = ({ sources, supersedes }: Candidate): boolean =>
    sources.some((source) => withheld.has(source + 1)) || (typeof supersedes === "object" && isWithheld(supersedes))
  const lasting = found.filter((candidate) => !isWithheld(candidate))
  return {
    candidates: lasting.slice(0, candidatesMax),
    dropped: [
      ...dropped,
      ...lasting.slice(candidatesMax).map(({ data, kind, sources }) => ({
        kind,
        data,
        sources,
        reason: "low_confidence" as const,
        message: `only the first ${candidatesMax} of a request are kept`
      }))
    ],
    summary: undefined,
    withheld: [...withheld].map((number) => number - 1),
    leftOut: [...leftOut].map((number) => number - 1),
    problem: leftOut.size > 0 ? endless : undefined
  }
}

/** Of the same matters as the window: the nearest that are stored, and the latest of this extraction. */
const knownFor = Effect.fnUntraced(function* ({ found, request }: Reading, { context, pieces }: ConversationWindow) {
  const said = pieces.filter(({ role }) => role === "user").map(({ content }) => content)
  // A short reply is about what was said before it.
  const texts = [...said, [...context.slice(-2), ...pieces].map(({ content }) => content).join("\n")]
  const terms = new Set(texts.flatMap((text) => [...tokenize(text)]))
  const replaced = new Set(found.map(({ supersedes }) => supersedes))
  const own = found
    .filter((candidate) => isFlat(new Set([candidate.kind])) && !replaced.has(candidate))
    .map((candidate) => ({ ...lineOf(candidate), target: candidate }))
    .filter(({ text }) => tokenize(text).some((term) => terms.has(term)))
    .slice(-ownKnownMax)
  const stored = request.known === undefined ? [] : yield* request.known(texts)
  const known: ReadonlyArray<Known> = [
    ...own,
    ...stored
      .filter(({ id }) => !replaced.has(id))
      .filter(({ text }) => !orders(text))
      .map(({ about, id, isOpen, text }) => ({
        about,
        text: clippedText(text, knownTextLengthMax),
        target: isOpen ? id : undefined
      }))
  ]
  let spare = knownRoom({ context, pieces })
  return known.filter(({ text }) => {
    if (text === "" || text.length > spare) return false
    spare -= text.length + lineOverhead
    return true
  })
})
const lineOverhead = 24

/** Characters of a prompt for what is known. */
const knownRoom = ({ context, pieces }: ConversationWindow): number => {
  const taken = [...context, ...pieces].reduce((sum, { content }) => sum + content.length + lineOverhead, 0)
  return Math.max(knownLengthMin, windowLengthAimed - taken)
}

/** Also behind whom it is about. */
const orders = (text: string): boolean => isInstruction(text) || isInstruction(text.replace(/^[^:]{1,80}: /, ""))

/** A candidate in the flat form as one sentence. */
const lineOf = ({ data }: Candidate): Pick<Known, "about" | "text"> => {
  const [about = "", text = ""] = [data["subject"], data["fact"] ?? data["event"]].map((value) => String(value ?? ""))
  const { preference, preferenceType } = data
  return { about, text: text === "" ? [about, preferenceType, preference].join(" ") : text }
}

/** The form that a server imposes: only what was asked for, each kind within its bounds. */
const wireFor = (isFlatAsked: boolean, kinds: ReadonlyArray<PromptKind>): typeof WireExtraction => {
  if (kinds.length === 0) return isFlatAsked ? plainWire : sentAs(WireExtraction, shapeOf(false, []))
  return sentAs(WireExtraction, shapeOf(isFlatAsked, kinds))
}

const shapeOf = (isFlatAsked: boolean, kinds: ReadonlyArray<PromptKind>): JsonSchema => {
  const { properties } = jsonSchemaOf(boundedExtraction) as { readonly properties: Readonly<Record<string, ListShape>> }
  const { memories, records, withhold } = properties
  const item = records!.items
  const recordOf = ({ kind }: PromptKind): JsonSchema => ({
    ...item,
    properties: { ...item.properties, kind: { type: "string", enum: [kind.name] }, data: boundedForm(kind) }
  })
  const shape = {
    ...(isFlatAsked && { memories }),
    ...(kinds.length > 0 && { records: { ...records, items: { anyOf: kinds.map(recordOf) } } }),
    withhold
  }
  return { type: "object", properties: shape, required: Object.keys(shape), additionalProperties: false }
}

interface ListShape {
  readonly items: JsonSchema & { readonly properties: JsonSchema }
}

const plainWire = sentAs(WireExtraction, shapeOf(true, []))

const shownTo = Effect.fnUntraced(function* (
  { dates, isStrict, names: subjects, request }: Reading,
  { flatKinds, kinds, window }: Part,
  known: ReadonlyArray<Known>
): Effect.fn.Return<Shown> {
  const { conversationDate, speakerName } = request
  const dated = (turn: Turn) => ({
    role: turn.role,
    name: turn.name,
    content: turn.content,
    day: dayOfTurn(turn, conversationDate)
  })
  const messages = new Map<number, ShownMessage>()
  for (const piece of window.pieces) {
    const before = messages.get(piece.number)
    messages.set(piece.number, { ...dated(piece), content: `${before?.content ?? ""}${piece.content}` })
  }
  const ordering = new Set<number>()
  for (const [number, { content }] of messages) if (yield* givesOrders(content)) ordering.add(number)
  const believed = [...messages].flatMap(([number, { content }]) => (ordering.has(number) ? [] : [content]))
  const names = [...window.pieces, ...window.context].flatMap(({ name }) => name ?? [])
  for (const text of [...window.context.map(({ content }) => content), ...new Set([...names, speakerName ?? ""])])
    if (!(yield* givesOrders(text))) believed.push(text)
  const knownTexts = known.map(({ text }) => text)
  return {
    kinds: new Map([...flatKinds, ...kinds].map((kind) => [kind.kind.name, kind])),
    messages,
    context: new Map(window.context.map((turn) => [turn.number, dated(turn)])),
    ordering,
    known: new Map(
      known.flatMap(({ about, target, text }, at) =>
        target === undefined ? [] : [[idOf(at), { about, text }] as const]
      )
    ),
    knownTexts,
    everything: makeShownText([
      ...believed,
      ...knownTexts,
      ...known.map(({ about }) => about),
      ...namesShown(subjects)
    ]),
    dates,
    isStrict
  }
})

const givesOrders = Effect.fnUntraced(function* (text: string): Effect.fn.Return<boolean> {
  for (const piece of instructionPieces(text)) {
    yield* Effect.yieldNow
    if (isInstruction(piece)) return true
  }
  return false
})

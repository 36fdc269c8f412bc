/**
 * Consolidation by the configured language model: a few groups of memories at a time; `ConsolidationChecks` filters its
 * replies. A reply that was cut off is not asked for again as it was: its groups are shown in halves.
 *
 * Invariants: no memory that gives orders is shown; a memory stands in one change at most.
 */
import { Effect, Layer } from "effect"
import { StructuredModel } from "@muniment/models/llm/StructuredModel"
import type { ModelFailure } from "@muniment/models/llm/ModelFailure"
import { readStatement } from "../answers/MemoryStatement.ts"
import { type Consolidated, type ConsolidationRequest, Consolidator, type NearMemory } from "./Consolidator.ts"
import { clippedText, leafTexts } from "@muniment/language/text/VisibleText"
import {
  consolidationPrompt,
  consolidationPromptVersion,
  consolidationSystem,
  consolidationTokensMax,
  judgeChange,
  type ShownMemories,
  type ShownMemory,
  WireConsolidation
} from "./ConsolidationChecks.ts"
import { type DateSupport, dateSupport } from "@muniment/language/calendar/DateSupport"
import { drawFence } from "../prompts/Fence.ts"
import { isInstruction } from "../prompts/InstructionText.ts"
import type { ExtractionChecks } from "../prompts/LlmExtractor.ts"

/** Characters of a memory in the prompt; of a longer one nothing is changed. */
const textLengthMax = 400

export const LlmConsolidator = {
  layer: ({ isStrict }: ExtractionChecks = { isStrict: false }) =>
    Layer.effect(
      Consolidator,
      Effect.gen(function* () {
        const parts: Parts = { model: yield* StructuredModel, dates: dateSupport(), isStrict }
        return { consolidate: (request) => consolidate(parts, request) }
      })
    )
}

interface Parts {
  readonly model: StructuredModel["Service"]
  readonly dates: DateSupport
  readonly isStrict: boolean
}

const consolidate = (
  parts: Parts,
  request: ConsolidationRequest
): Effect.Effect<ReadonlyArray<Consolidated>, ModelFailure> =>
  Effect.gen(function* () {
    yield* Effect.annotateCurrentSpan({ promptVersion: consolidationPromptVersion })
    const { model } = parts
    const shown = shownOf(parts, request)
    if (shown.memories.size === 0) return []
    const lines = Array.from(shown.memories, ([id, { group, memory, text }]) => ({
      id,
      group,
      createdAt: memory.createdAt,
      text
    }))
    const reply = yield* model
      .generate({
        account: request.account,
        purpose: "consolidation",
        system: consolidationSystem,
        prompt: consolidationPrompt(yield* drawFence, request.today, lines),
        schema: WireConsolidation,
        schemaName: "consolidation",
        outputTokensMax: consolidationTokensMax
      })
      .pipe(Effect.catchTag("ModelFailure", (failure) => (failure.reason === "truncated" ? cutOff : failure)))
    if (reply === undefined) return yield* inHalves(parts, request)
    const changes: Array<Consolidated> = []
    for (const wire of reply.changes ?? []) {
      yield* Effect.yieldNow
      const judged = judgeChange(wire, shown)
      if ("reason" in judged) yield* Effect.logDebug(`a ${wire.op} of memories is left out: ${judged.reason}`)
      else if (changes.every(({ ids }) => !ids.some((id) => judged.ids.includes(id)))) changes.push(judged)
    }
    return changes
  }).pipe(Effect.withSpan("LlmConsolidator.consolidate"))

const cutOff = Effect.succeed(undefined)

const inHalves = (parts: Parts, request: ConsolidationRequest) => {
  const { groups } = request
  const middle = Math.ceil(groups.length / 2)
  const halves = groups.length < 2 ? [] : [groups.slice(0, middle), groups.slice(middle)]
  return Effect.map(
    Effect.forEach(halves, (half) => consolidate(parts, { ...request, groups: half })),
    (changes) => changes.flat()
  )
}

const shownOf = ({ dates, isStrict }: Parts, { groups, today }: ConsolidationRequest): ShownMemories => {
  const shown = groups.flatMap((memories, at) => memories.flatMap((memory) => shownMemory(memory, at + 1) ?? []))
  return { memories: new Map(shown.map((one, at) => [`k${at + 1}`, one])), today, dates, isStrict }
}

const shownMemory = (memory: NearMemory, group: number): ShownMemory | undefined => {
  const { createdAt, data, id, kind, when } = memory
  const { date, subject, text } = readStatement({ id, kind, data, when, createdAt, relevance: 0 })
  const whole = date === undefined ? text : `${text} (${date})`
  const isFit = subject !== undefined && whole !== "" && clippedText(whole, textLengthMax) === whole
  return !isFit || leafTexts(data).some(isInstruction) ? undefined : { memory, group, about: subject, text: whole }
}

import { describe, expect } from "vitest"
import { Effect, Layer } from "effect"
import fc from "fast-check"
import { AnswerWriter } from "@muniment/insight/answers/AnswerWriter"
import { layerOfModel } from "@muniment/insight/answers/ModelAnswers"
import { nothingKnown } from "@muniment/insight/answers/WrittenAnswer"
import { groundedIn } from "@muniment/insight/answers/ModelAnswers"
import { StructuredModel } from "@muniment/models/llm/StructuredModel"
import { ModelFailure, type ModelFailureReason } from "@muniment/models/llm/ModelFailure"
import { evidenceOf } from "./Worlds.ts"
import { it } from "../../../support/it.ts"

const seattle = evidenceOf("a", "factual_memory", { subject: "Alice", fact: "Alice lives in Seattle" })
const tea = evidenceOf("b", "preference_memory", { subject: "Alice", preferenceType: "likes", preference: "tea" })
const request = { account: "acme", question: "Where does Alice live?", evidence: [seattle, tea] }

/** A model that says what it is told to. */
const scripted = (answer: Effect.Effect<unknown, ModelFailure>): Layer.Layer<StructuredModel> =>
  Layer.succeed(StructuredModel, {
    name: "scripted",
    problem: Effect.undefined,
    afford: () => Effect.void,
    generate: <A>() => answer.pipe(Effect.map((value) => value as A))
  })

const written = (answer: Effect.Effect<unknown, ModelFailure>) =>
  AnswerWriter.use((writer) => writer.write(request)).pipe(
    Effect.provide(layerOfModel.pipe(Layer.provide(scripted(answer))))
  )

describe("answers with a model", () => {
  it.effect("are the model's, with the ids of the memories that it names", function* () {
    const answer = yield* written(
      Effect.succeed({ known: "yes", sentences: [{ text: "In Seattle.", citations: [1] }] })
    )
    expect(answer).toEqual({ answer: "In Seattle.", citations: ["a"], grounded: true, method: "model" })
  })

  it.effect(
    "claim nothing when they cite what was not given or say nothing, and rules do not speak in their place",
    function* () {
      for (const said of [
        { known: "yes", sentences: [{ text: "On Mars.", citations: [7, -1] }] },
        { known: "no", sentences: [] }
      ]) {
        const answer = yield* written(Effect.succeed(said))
        expect(answer).toEqual({ answer: nothingKnown, citations: [], grounded: false, method: "model" })
      }
    }
  )

  const reasons: ReadonlyArray<ModelFailureReason> = [
    "unreachable",
    "timeout",
    "refused",
    "malformed",
    "circuit_open",
    "budget_exhausted"
  ]
  for (const reason of reasons) {
    it.effect(`are quoted from the memories when the model fails: ${reason}`, function* () {
      const answer = yield* written(Effect.fail(new ModelFailure({ reason, message: "no" })))
      expect(answer).toEqual({
        answer: "Alice lives in Seattle.",
        citations: ["a"],
        grounded: true,
        method: "extractive"
      })
    })
  }

  it.effect("are quoted from the memories where no model is configured", () =>
    Effect.gen(function* () {
      const answer = yield* AnswerWriter.use((writer) => writer.write(request))
      expect(answer).toMatchObject({ answer: "Alice lives in Seattle.", method: "extractive" })
    }).pipe(Effect.provide(AnswerWriter.layerExtractive))
  )

  it("never leave the evidence, whatever a model's answer claims", () => {
    const claim = fc.record({
      answer: fc.string(),
      citations: fc.array(fc.constantFrom("a", "b", "c", "", "__proto__")),
      grounded: fc.boolean(),
      method: fc.constant("model" as const)
    })
    fc.assert(
      fc.property(claim, (answer) => {
        const { citations, grounded, answer: text } = groundedIn(request.evidence, answer)
        expect(citations.every((id) => id === "a" || id === "b")).toBe(true)
        expect(new Set(citations).size).toBe(citations.length)
        expect(grounded).toBe(citations.length > 0)
        if (!grounded) expect(text).toBe(nothingKnown)
      })
    )
  })
})

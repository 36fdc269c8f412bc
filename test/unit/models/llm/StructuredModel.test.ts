/** Answers of the configured language model, over real HTTP in the wire formats of both providers. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { answer, text } from "../../../support/ModelServerReplies.ts"
import { Facts, formats, request, secretKey, secretPrompt, tea, withModel } from "./ModelHarness.ts"

describe.each(formats)("a structured answer over %s", (format) => {
  it.live("is decoded with the schema that was asked for", () =>
    withModel(format, {}, ({ model, server }) =>
      Effect.gen(function* () {
        server.script(answer(tea))
        expect(yield* model.generate(request)).toEqual(tea)
        expect(model.name).toBe("test-model")
        expect(server.requests).toHaveLength(1)
      })
    )
  )
})

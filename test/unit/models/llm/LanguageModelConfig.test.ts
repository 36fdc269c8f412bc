/** What holds for calls where an operator says little. */
import { describe, expect, it } from "@effect/vitest"
import { deadlineOf, type LanguageModelConfig, timeoutOf } from "@muniment/models/llm/LanguageModelConfig"

const config: LanguageModelConfig = {
  provider: "openai-compatible",
  baseUrl: "http://127.0.0.1:11434/v1",
  model: "some-model",
  apiKey: undefined
}

describe("the time of a call", () => {
  it("is a local model's for a reading, and a waiting caller's for an answer", () => {
    expect([timeoutOf(config, "extraction"), deadlineOf(config, "extraction")]).toEqual([120_000, 120_500])
    expect([timeoutOf(config, "answer"), deadlineOf(config, "answer")]).toEqual([20_000, 20_500])
  })

  it("is the operator's for both", () => {
    expect(deadlineOf({ ...config, timeoutMillis: 600_000 }, "answer")).toBe(600_500)
    expect(deadlineOf({ ...config, timeoutMillis: 60_000, deadlineMillis: 9_000 }, "extraction")).toBe(9_000)
  })
})

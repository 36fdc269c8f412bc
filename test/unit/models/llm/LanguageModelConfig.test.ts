/** What holds for calls where an operator says little. */
import { describe, expect, it } from "@effect/vitest"
import { callSettings, type LanguageModelConfig } from "@muniment/models/llm/LanguageModelConfig"

const config: LanguageModelConfig = {
  provider: "openai-compatible",
  baseUrl: "http://127.0.0.1:11434/v1",
  model: "some-model",
  apiKey: undefined
}

describe("callSettings", () => {
  it("leave half a second of extraction's 8 s to what is around a call", () => {
    expect(callSettings(config)).toMatchObject({ timeoutMillis: 7_000, deadlineMillis: 7_500, concurrency: 4 })
  })

  it("move the deadline with the time of an exchange, unless it is given", () => {
    expect(callSettings({ ...config, timeoutMillis: 60_000 }).deadlineMillis).toBe(60_500)
    expect(callSettings({ ...config, timeoutMillis: 1_000 }).deadlineMillis).toBe(7_500)
    expect(callSettings({ ...config, timeoutMillis: 60_000, deadlineMillis: 9_000 }).deadlineMillis).toBe(9_000)
  })
})

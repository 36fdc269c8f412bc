/** What follows from a trial: whether to configure the model, with which settings; how results are counted. */
import {
  adviceOf,
  trialConversations,
  type TrialResult,
  trialResult,
  type TriedModel
} from "@muniment/cli/modelTrial/TrialAdvice"
import { settingLine } from "@muniment/cli/modelTrial/TrialReport"
import { describe, expect, it } from "vitest"

const result = (more: Partial<TrialResult> = {}): TrialResult => ({
  title: "a move",
  held: 5,
  told: 5,
  falsehoods: [],
  right: 4,
  wrong: [],
  withheld: 0,
  readingMillis: 8_000,
  answerMillis: 3_000,
  inputTokens: 2_000,
  outputTokens: 500,
  failures: {},
  ...more
})

const tried = (byModel: Partial<TrialResult>, more: Partial<TriedModel> = {}): TriedModel => ({
  config: { provider: "openai-compatible", baseUrl: "http://127.0.0.1:11434/v1", model: "qwen3:8b", apiKey: undefined },
  isStrict: false,
  abilities: { schemaBy: "json_schema", thinking: "none", tokensPerSecond: 20 },
  listing: undefined,
  byModel: [result(byModel)],
  byRules: [result({ held: 2, right: 2, withheld: 2 })],
  ...more
})

const server = {
  MUNIMENT_LLM_PROVIDER: "openai-compatible",
  MUNIMENT_LLM_BASE_URL: "http://127.0.0.1:11434/v1",
  MUNIMENT_LLM_MODEL: "qwen3:8b"
}
const wrong = [{ question: "Where do I live?", answer: "In Porto." }]

describe("the settings for a model", () => {
  it("that is good and quick are its server and its name", () => {
    expect(adviceOf(tried({}))).toEqual({ isBetterThanRules: true, settings: server, notes: [] })
  })

  it("that answers wrongly, or stores what is not so, have strict checks", () => {
    expect(adviceOf(tried({ falsehoods: ["Marta lives in Porto"] })).settings).toMatchObject({
      MUNIMENT_LLM_CHECKS: "strict"
    })
    expect(adviceOf(tried({ wrong, right: 3 })).settings).toEqual({ ...server, MUNIMENT_LLM_CHECKS: "strict" })
  })

  it("that is slow give it three times what it took, and never less than a reading has", () => {
    expect(adviceOf(tried({ answerMillis: 9_000 })).settings).toMatchObject({ MUNIMENT_LLM_TIMEOUT_MILLIS: "120000" })
    expect(adviceOf(tried({ readingMillis: 61_000 })).settings).toMatchObject({ MUNIMENT_LLM_TIMEOUT_MILLIS: "190000" })
  })

  it("whose server says how many it answers at once have that number", () => {
    const listing = { product: "llama.cpp", models: ["qwen3:8b"], contextTokens: new Map(), slots: 1 } as const
    expect(adviceOf(tried({}, { listing })).settings).toMatchObject({ MUNIMENT_LLM_CONCURRENCY: "1" })
    expect(adviceOf(tried({}, { listing: { ...listing, slots: 4 } })).settings).toEqual(server)
  })

  it("that is no better than the rules turn it off, however much it finds", () => {
    const poor = { held: 5, falsehoods: ["a", "b"], right: 1, wrong, withheld: 2 }
    expect(adviceOf(tried(poor))).toMatchObject({
      isBetterThanRules: false,
      settings: { MUNIMENT_LLM_PROVIDER: "none" }
    })
  })
})

it("a short context and thoughts that stay on are told", () => {
  const { notes } = adviceOf(
    tried(
      {},
      {
        abilities: { schemaBy: "json_schema", thinking: "stays_on", tokensPerSecond: 20 },
        listing: { product: "Ollama", models: [], contextTokens: new Map([["qwen3:8b", 4_096]]), slots: undefined }
      }
    )
  )
  expect(notes.join("\n")).toMatch(/4096 tokens[^]*OLLAMA_CONTEXT_LENGTH=16384[^]*cannot be told not to/)
})

it("a setting is a line for a shell, whatever is in it", () => {
  expect(settingLine("A", "qwen3:8b")).toBe("export A=qwen3:8b")
  expect(settingLine("A", "it's $(rm) \u001b[2J")).toBe(String.raw`export A='it'\''s $(rm) \u{1b}[2J'`)
})

describe("a conversation of the trial", () => {
  const [move] = trialConversations
  const memories = (...facts: ReadonlyArray<string>) =>
    facts.map((fact) => ({ data: { subject: "Marta", fact }, metadata: {} }))
  const judged = (facts: ReadonlyArray<string>, answers: ReadonlyArray<string | undefined> = []) =>
    trialResult({
      conversation: move!,
      memories: memories(...facts),
      answers: answers.map((answer, at) => ({ asked: move!.questions[at]!, answer, millis: at })),
      readingMillis: 1,
      inputTokens: 2,
      outputTokens: 3,
      failures: new Map([["extraction timeout", 0]])
    })

  it("holds a fact whose words stand in one memory", () => {
    expect(judged(["Marta works as a dental nurse", "Paulo is her brother", "She likes maps"]).held).toBe(1)
    expect(judged(["Her brother Paulo collects old maps"]).held).toBe(1)
  })

  it("has what is no longer so, or was only supposed, as false, unless it is told as that", () => {
    expect(judged(["Marta lives in Porto", "Marta would buy a boat if she were rich"]).falsehoods).toEqual([
      "Marta, Marta lives in Porto"
    ])
    expect(judged(["Marta moved from her home in Porto to Braga", "Marta lives in Braga"]).falsehoods).toEqual([])
    expect(judged(["Marta wants to buy Paulo a boat"]).falsehoods).toHaveLength(1)
  })

  it("counts answers that are right, wrong, and missing; to a question without an answer none is right", () => {
    const counted = judged([], ["You live in Braga.", "Stamps.", undefined, undefined])
    expect(counted).toMatchObject({ right: 2, withheld: 1, answerMillis: 3, failures: {} })
    expect(counted.wrong).toEqual([{ question: "What does Paulo collect?", answer: "Stamps." }])
    expect(judged([], [undefined, undefined, undefined, "Ana."]).wrong).toHaveLength(1)
  })

  it.each(trialConversations)("asks what was told: $title", ({ facts, falsehoods, messages, questions }) => {
    const said = messages.map(({ content }) => content).join(" ")
    for (const { fact, words } of facts) for (const word of words) expect(said + fact).toMatch(word)
    for (const { answer } of questions) if (answer !== undefined) expect(said).toMatch(answer)
    expect(
      facts.filter(({ fact }) => falsehoods.some(({ unless, words }) => words.test(fact) && !unless.test(fact)))
    ).toEqual([])
  })
})

/**
 * A chat with a model behind any address that speaks OpenAI's language; it remembers across runs.
 *
 *     MUNIMENT_API_KEY=mun_... MODEL_URL=http://127.0.0.1:11434/v1 MODEL=llama3.2 node remember.js "I live in Lisbon"
 */
import process from "node:process"
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import { Muniment } from "@muniment/client"
import { memoryMiddleware, memoryTools } from "@muniment/ai-sdk"
import { generateText, stepCountIs, wrapLanguageModel } from "ai"

const {
  MODEL = "llama3.2",
  MODEL_URL = "",
  MUNIMENT_API_KEY = "",
  MUNIMENT_URL = "http://127.0.0.1:8787"
} = process.env
const client = new Muniment({ baseUrl: MUNIMENT_URL, apiKey: MUNIMENT_API_KEY })
const scope = { agentId: "assistant", subjectId: "me" }
const model = wrapLanguageModel({
  model: createOpenAICompatible({ name: "local", baseURL: MODEL_URL })(MODEL),
  middleware: memoryMiddleware(client, { ...scope, threadId: "terminal" })
})

for (const prompt of process.argv.slice(2)) {
  const { text } = await generateText({ model, prompt, tools: memoryTools(client, scope), stopWhen: stepCountIs(5) })
  process.stdout.write(`${text}\n`)
}

/**
 * A chat with a model behind any address that speaks OpenAI's language; it remembers across threads.
 *
 *     MUNIMENT_API_KEY=mun_... MODEL_URL=http://127.0.0.1:11434/v1 MODEL=llama3.2 node remember.js thread-1 "I live in Lisbon"
 */
import process from "node:process"
import { Agent } from "@mastra/core/agent"
import { MastraCompositeStore } from "@mastra/core/storage"
import { Memory } from "@mastra/memory"
import { Muniment } from "@muniment/client"
import { MunimentRecall, MunimentStorage } from "@muniment/mastra"

const {
  MODEL = "llama3.2",
  MODEL_URL = "",
  MUNIMENT_API_KEY = "",
  MUNIMENT_URL = "http://127.0.0.1:8787"
} = process.env
const client = new Muniment({ baseUrl: MUNIMENT_URL, apiKey: MUNIMENT_API_KEY })
const storage = new MastraCompositeStore({ id: "muniment", domains: { memory: new MunimentStorage(client) } })
const agent = new Agent({
  id: "assistant",
  name: "Assistant",
  instructions: "Be short.",
  model: { id: `local/${MODEL}`, url: MODEL_URL, apiKey: "unused" },
  memory: new Memory({ storage, options: { lastMessages: 20 } }),
  inputProcessors: [new MunimentRecall(client)]
})

const [thread = "terminal", ...lines] = process.argv.slice(2)
for (const said of lines) {
  const { text } = await agent.generate(said, { memory: { thread, resource: "me" } })
  process.stdout.write(`${text}\n`)
}

/**
 * Claude with a memory that lasts: it reads and writes files below `/memories`, which are memories of the service.
 *
 *     ANTHROPIC_API_KEY=... MUNIMENT_API_KEY=mun_... node remember.js "I live in Lisbon"
 */
import process from "node:process"
import Anthropic from "@anthropic-ai/sdk"
import { betaMemoryTool } from "@anthropic-ai/sdk/helpers/beta/memory"
import { MemoryFiles } from "@muniment/anthropic"
import { Muniment } from "@muniment/client"

const { MODEL = "claude-sonnet-5-5", MUNIMENT_API_KEY = "", MUNIMENT_URL = "http://127.0.0.1:8787" } = process.env
const client = new Muniment({ baseUrl: MUNIMENT_URL, apiKey: MUNIMENT_API_KEY })
const memory = betaMemoryTool(new MemoryFiles(client, { agentId: "assistant", subjectId: "me" }))

for (const content of process.argv.slice(2)) {
  const said = await new Anthropic().beta.messages.toolRunner({
    model: MODEL,
    max_tokens: 2_000,
    betas: ["context-management-2025-06-27"],
    tools: [memory],
    messages: [{ role: "user", content }]
  })
  process.stdout.write(`${said.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("")}\n`)
}

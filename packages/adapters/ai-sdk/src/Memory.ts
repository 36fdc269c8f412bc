/**
 * Memory for Vercel's AI SDK. `memoryMiddleware` puts what is remembered before each prompt and stores what was said;
 * `memoryTools` lets the model search, remember and forget by itself. Both stay within one scope: an agent, and the
 * subject where one is given.
 */
import { jsonSchema, type LanguageModelMiddleware, tool } from "ai"
import type { Memory, Muniment } from "@muniment/client"
import { callLimits, messageParts, queryOf, requestsOf } from "@muniment/client/CallLimits"
import type { SearchAnswers } from "@muniment/client/Contract"

export interface MemoryScope {
  readonly agentId: string
  /** Whom the memories are about: your user. */
  readonly subjectId?: string
}

export interface MiddlewareOptions extends MemoryScope {
  /** The conversation that is stored; without it nothing is, and memories are only recalled. */
  readonly threadId?: string
  /** Tokens of what is put before a prompt, at most; 1,500. */
  readonly maxTokens?: number
  /** IANA time zone of the days in it; UTC. */
  readonly timeZone?: string
  /** Told of a memory that could not be read or stored, and the model is asked all the same. Without it the call fails. */
  readonly onError?: (error: unknown) => void
}

type Transform = NonNullable<LanguageModelMiddleware["transformParams"]>
type Prompt = Parameters<Transform>[0]["params"]["prompt"]
type Hit = SearchAnswers["llm"]["memories"][number]

const foundDefault = 5
const turnsMax = 50
const turnLengthMax = 8_000

/** For `wrapLanguageModel({ model, middleware })`. */
export const memoryMiddleware = (client: Muniment, options: MiddlewareOptions): LanguageModelMiddleware => {
  const { agentId, maxTokens, onError, subjectId, threadId, timeZone } = options
  const scope = { agentId, ...(subjectId !== undefined && { subjectId }) }

  const tolerated = async <Result>(work: () => Promise<Result>): Promise<Result | undefined> => {
    try {
      return await work()
    } catch (error) {
      if (onError === undefined) throw error
      onError(error)
      return undefined
    }
  }
  /** Context of the turns, without these. */
  const recall = async (messages: ReadonlyArray<Turn>): Promise<string> => {
    const more = { ...(maxTokens !== undefined && { maxTokens }), ...(timeZone !== undefined && { timeZone }) }
    return (await client.context({ ...scope, ...more, messages })).text
  }
  const remember = async (prompt: Prompt, answer: string): Promise<void> => {
    const said = lastWords(prompt)
    if (threadId === undefined || said === undefined) return
    // With ids of their own: a user may say the same twice.
    const messages = (role: "user" | "assistant", words: string) =>
      messageParts(words).map((content) => ({ id: crypto.randomUUID(), role, content }))
    const conversation = [...messages("user", said), ...(answer.trim() === "" ? [] : messages("assistant", answer))]
    for (const part of requestsOf(conversation, callLimits.messagesPerRequestMax))
      await client.create({ ...scope, threadId, conversation: part })
  }

  return {
    specificationVersion: "v4",
    transformParams: async ({ params }) => {
      const turns = turnsIn(params.prompt)
      const known = turns.some(({ role }) => role === "user") ? ((await tolerated(() => recall(turns))) ?? "") : ""
      return known === "" ? params : { ...params, prompt: withContext(params.prompt, known) }
    },
    wrapGenerate: async ({ doGenerate, params }) => {
      const result = await doGenerate()
      const words = result.content.map((part) => (part.type === "text" ? part.text : "")).join("")
      if (result.finishReason.unified !== "tool-calls") await tolerated(() => remember(params.prompt, words))
      return result
    },
    wrapStream: async ({ doStream, params }) => {
      const { stream, ...rest } = await doStream()
      let words = ""
      let isAnswer = false
      const kept = new TransformStream<StreamPart, StreamPart>({
        transform: (part, controller) => {
          if (part.type === "text-delta") words += part.delta
          if (part.type === "finish") isAnswer = part.finishReason.unified !== "tool-calls"
          controller.enqueue(part)
        },
        flush: async () => {
          if (isAnswer) await tolerated(() => remember(params.prompt, words))
        }
      })
      return { ...rest, stream: stream.pipeThrough(kept) }
    }
  }
}

/** For `generateText({ model, tools: memoryTools(client, scope) })`. */
export const memoryTools = (client: Muniment, { agentId, subjectId }: MemoryScope) => {
  const scope = { agentId, ...(subjectId !== undefined && { subjectId }) }
  return {
    searchMemories: tool({
      description: "Search what is remembered from earlier conversations, by meaning and by words.",
      inputSchema: jsonSchema<{ readonly query: string; readonly limit?: number }>({
        type: "object",
        properties: { query: { type: "string", minLength: 1 }, limit: { type: "integer", minimum: 1, maximum: 100 } },
        required: ["query"],
        additionalProperties: false
      }),
      execute: async ({ limit = foundDefault, query: words }) => {
        const query = queryOf(words)
        if (query === undefined) return []
        const { memories } = await client.search({ ...scope, query, limit })
        return memories.map((hit) => ({ id: hit.id, text: textOf(hit), relevance: hit.quality.relevance }))
      }
    }),
    rememberFact: tool({
      description: "Remember one fact for later conversations, in a sentence that stands by itself.",
      inputSchema: jsonSchema<{ readonly subject: string; readonly fact: string }>({
        type: "object",
        properties: { subject: { type: "string", minLength: 1 }, fact: { type: "string", minLength: 1 } },
        required: ["subject", "fact"],
        additionalProperties: false
      }),
      execute: async (data) => {
        const memories = [{ kind: "factual_memory", data: { ...data } }]
        const { created, existing = [] } = await client.create({ ...scope, memories, onDuplicate: "return" })
        return { id: [...created, ...existing][0]?.id }
      }
    }),
    forgetMemory: tool({
      description: "Erase one memory by the id that searchMemories gave.",
      inputSchema: jsonSchema<{ readonly id: string }>({
        type: "object",
        properties: { id: { type: "string", minLength: 1 } },
        required: ["id"],
        additionalProperties: false
      }),
      execute: async ({ id }) => {
        const { memory } = await client.get(id)
        if (!isWithin(memory, scope)) return { forgotten: false }
        await client.forget(id)
        return { forgotten: true }
      }
    })
  }
}

type StreamResult = Awaited<ReturnType<NonNullable<LanguageModelMiddleware["wrapStream"]>>>
type StreamPart = StreamResult["stream"] extends ReadableStream<infer Part> ? Part : never

/** The text of the last message of the user. */
const lastWords = (prompt: Prompt): string | undefined => {
  const message = prompt.findLast(({ role }) => role === "user")
  if (message?.role !== "user") return undefined
  const words = message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n")
  return words.trim() === "" ? undefined : words
}

interface Turn {
  readonly role: "user" | "assistant"
  readonly content: string
}

/** The last turns of the prompt, without calls of tools. */
const turnsIn = (prompt: Prompt): ReadonlyArray<Turn> =>
  prompt.slice(-turnsMax).flatMap((message): ReadonlyArray<Turn> => {
    if (message.role !== "user" && message.role !== "assistant") return []
    const words = message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n")
    return words.trim() === "" ? [] : [{ role: message.role, content: words.slice(0, turnLengthMax) }]
  })

/** After the instructions, before the conversation. */
const withContext = (prompt: Prompt, content: string): Prompt => {
  const instructions = prompt.findIndex(({ role }) => role !== "system")
  return [...prompt.slice(0, instructions), { role: "system", content }, ...prompt.slice(instructions)]
}

/** On one line, with its time and speaker. */
const textOf = ({ context, data }: Hit): string => {
  const { fact, role, text } = data as { readonly fact?: unknown; readonly role?: unknown; readonly text?: unknown }
  const words = typeof text === "string" ? `${String(role)}: ${text}` : typeof fact === "string" ? fact : undefined
  const when = context.when === undefined ? "" : ` (${context.when.slice(0, 10)})`
  return `${(words ?? JSON.stringify(data)).replaceAll(/\s+/g, " ")}${when}`
}

const isWithin = ({ metadata }: Memory, { agentId, subjectId }: MemoryScope): boolean =>
  metadata["agentId"] === agentId && (subjectId === undefined || metadata["subjectId"] === subjectId)

/**
 * Replies of a scripted model server, and how it looks on the wires of the two providers. Bodies are complete answers
 * as the real servers send them.
 */
import type { ServerResponse } from "node:http"
import { setTimeout as timer } from "node:timers/promises"

export type ModelFormat = "openai-compatible" | "anthropic"

export interface ReplyUsage {
  readonly input: number
  readonly output: number
}

export type ModelReply =
  /** A structured answer; without `usage` the server says 11 and 7, with `null` nothing. */
  | { readonly kind: "answer"; readonly value: unknown; readonly usage?: ReplyUsage | null }
  /** Text as the model wrote it: code fences, prose, broken JSON. */
  | { readonly kind: "text"; readonly text: string; readonly usage?: ReplyUsage | null; readonly thoughts?: string }
  | { readonly kind: "length"; readonly text: string }
  | { readonly kind: "refusal" }
  | { readonly kind: "filtered" }
  | { readonly kind: "empty" }
  | {
      readonly kind: "status"
      readonly status: number
      readonly headers?: Readonly<Record<string, string>>
      readonly body?: string
    }
  | { readonly kind: "slow"; readonly millis: number; readonly then: ModelReply }
  /** The answer byte by byte. */
  | { readonly kind: "drip"; readonly value: unknown; readonly everyMillis: number }
  /** A whole response whose JSON stops in the middle. */
  | { readonly kind: "half_json"; readonly value: unknown }
  /** The connection ends within the body. */
  | { readonly kind: "cut"; readonly value: unknown }
  | { readonly kind: "reset" }
  | { readonly kind: "hang" }
  /** A well-formed answer of so many bytes. */
  | { readonly kind: "huge"; readonly bytes: number }
  | { readonly kind: "not_json" }

export const answer = (
  value: unknown,
  usage?: ReplyUsage | null
): Extract<ModelReply, { readonly kind: "answer" }> => ({
  kind: "answer",
  value,
  ...(usage !== undefined && { usage })
})
export const text = (written: string): ModelReply => ({ kind: "text", text: written })
export const status = (code: number, headers: Readonly<Record<string, string>> = {}, body?: string): ModelReply => ({
  kind: "status",
  status: code,
  headers,
  ...(body !== undefined && { body })
})

/** Sends the reply. It ends early when the caller has gone. */
export const sendReply = async (
  response: ServerResponse,
  format: ModelFormat,
  toolName: string | undefined,
  reply: ModelReply
): Promise<void> => {
  switch (reply.kind) {
    case "slow":
      await pause(reply.millis)
      return sendReply(response, format, toolName, reply.then)
    case "hang":
      return
    case "reset":
      response.destroy()
      return
    case "not_json":
      response.setHeader("content-type", "text/html")
      response.end("<html><body>the gateway says hello</body></html>")
      return
    case "status":
      response.writeHead(reply.status, { "content-type": "application/json", ...reply.headers })
      response.end(reply.body ?? JSON.stringify({ error: { message: `status ${reply.status}`, type: "test" } }))
      return
    case "drip":
      return drip(response, bodyOf(format, toolName, answer(reply.value)), reply.everyMillis)
    case "cut":
      return cut(response, bodyOf(format, toolName, answer(reply.value)))
    case "half_json": {
      const body = bodyOf(format, toolName, answer(reply.value))
      return json(response, body.slice(0, body.length / 2))
    }
    default:
      json(response, bodyOf(format, toolName, reply))
  }
}

/** Keeps no process alive that has nothing else to do. */
const pause = (millis: number): Promise<void> => timer(millis, undefined, { ref: false })

const json = (response: ServerResponse, body: string): void => {
  response.setHeader("content-type", "application/json")
  response.end(body)
}

const drip = async (response: ServerResponse, body: string, everyMillis: number): Promise<void> => {
  response.setHeader("content-type", "application/json")
  for (const character of body) {
    if (response.destroyed) return
    response.write(character)
    await pause(everyMillis)
  }
  response.end()
}

const cut = (response: ServerResponse, body: string): void => {
  response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) })
  response.write(body.slice(0, body.length / 2), () => response.destroy())
}

type WholeReply = Extract<
  ModelReply,
  { readonly kind: "answer" | "text" | "length" | "refusal" | "filtered" | "empty" | "huge" }
>

const bodyOf = (format: ModelFormat, toolName: string | undefined, reply: WholeReply): string =>
  JSON.stringify(format === "anthropic" ? message(toolName, reply) : completion(reply))

const usageOf = (reply: WholeReply): ReplyUsage | null =>
  "usage" in reply && reply.usage !== undefined ? reply.usage : { input: 11, output: 7 }

const completion = (reply: WholeReply) => {
  const usage = usageOf(reply)
  const content = reply.kind === "refusal" || reply.kind === "filtered" ? null : writtenText(reply)
  const refusal = reply.kind === "refusal" ? "I cannot help with that." : null
  const reason = { length: "length", filtered: "content_filter" }[String(reply.kind)] ?? "stop"
  return {
    id: "chatcmpl-test",
    object: "chat.completion",
    created: 1_700_000_000,
    model: "test",
    choices:
      reply.kind === "empty"
        ? []
        : [
            {
              index: 0,
              message: { role: "assistant", content, refusal, ...thoughtsOf(reply) },
              logprobs: null,
              finish_reason: reason
            }
          ],
    ...(usage !== null && {
      usage: {
        prompt_tokens: usage.input,
        completion_tokens: usage.output,
        total_tokens: usage.input + usage.output
      }
    })
  }
}

const thoughtsOf = (reply: WholeReply) =>
  reply.kind === "text" && reply.thoughts !== undefined ? { reasoning_content: reply.thoughts } : {}

const message = (toolName: string | undefined, reply: WholeReply) => {
  const usage = usageOf(reply)
  const isAnswer = reply.kind === "answer" && toolName !== undefined
  const block = isAnswer
    ? { type: "tool_use", id: "toolu_test", name: toolName, input: reply.value }
    : { type: "text", text: writtenText(reply) }
  const isRefused = reply.kind === "refusal" || reply.kind === "filtered"
  return {
    id: "msg_test",
    type: "message",
    role: "assistant",
    model: "test",
    content: isRefused ? [] : [block],
    stop_reason: isRefused ? "refusal" : reply.kind === "length" ? "max_tokens" : isAnswer ? "tool_use" : "end_turn",
    stop_sequence: null,
    // What makes it no message at all: the list is missing.
    ...(reply.kind === "empty" && { content: undefined }),
    ...(usage !== null && { usage: { input_tokens: usage.input, output_tokens: usage.output } })
  }
}

const writtenText = (reply: WholeReply): string => {
  if (reply.kind === "answer") return JSON.stringify(reply.value)
  if (reply.kind === "huge") return "x".repeat(reply.bytes)
  return "text" in reply ? reply.text : ""
}

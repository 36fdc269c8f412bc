/** Standing instructions: what the user wants of the agent from now on, and what only looks like it. */
import { describe, expect, it } from "@effect/vitest"
import { builtinKinds } from "@muniment/schemas/BuiltinKinds"
import { readConversation } from "@muniment/insight/rules/ConversationReader"

const read = (content: string, name?: string): ReadonlyArray<unknown> =>
  readConversation({
    kinds: builtinKinds,
    messages: [{ role: "user", content, name }],
    context: [],
    summary: undefined,
    speakerName: "Bob",
    conversationDate: "2026-03-01"
  }).candidates.map(({ data, kind }) => (kind === "instruction_memory" ? data["text"] : kind))

const standing: ReadonlyArray<readonly [said: string, kept: string]> = [
  ["Always answer in metric units.", "Always answer in metric units."],
  ["From now on, call me Captain.", "Call Bob Captain."],
  ["Please don't use emojis.", "Do not use emojis."],
  ["Never reply in more than three sentences!", "Never reply in more than three sentences."],
  ["In future please keep your answers short.", "Keep your answers short."],
  ["Answer in French from now on", "Answer in French."],
  ["Going forward, stop using bullet points.", "Stop using bullet points."],
  ["Don't ever suggest pork.", "Do not ever suggest pork."],
  ["Please always address my letters to the Oslo office", "Always address Bob's letters to the Oslo office."]
]

const none: ReadonlyArray<string> = [
  // For once, or of what was said before.
  "Please answer in French.",
  "Please do not use that file.",
  "Please don't call me back today.",
  // Asked of somebody else, or said of oneself.
  "Please don't tell mum.",
  "Always wear a helmet.",
  "I always answer my mails.",
  "From now on I drink tea.",
  "In the future I want to live in Rome.",
  // Another's words, a question, a text to work on.
  "My boss said: always use the blue form.",
  "Could you always answer in French?",
  'Can you proofread this? "Always answer the phone within three rings."'
]

describe("a standing instruction", () => {
  it.each(standing)("%s", (said, kept) => {
    expect(read(said)).toEqual([kept])
  })

  it.each(none)("is not: %s", (said) => {
    expect(read(said).filter((one) => typeof one === "string" && /^[A-Z]/.test(one))).toEqual([])
  })

  it("is asked of the agent: of people who speak by name one asks another", () => {
    expect(read("Always call me before you come.", "Ann")).toEqual([])
  })
})

import { describe, expect, it } from "vitest"
import { Limits } from "@muniment/domain/Limits"
import { conversationMessageKind } from "@muniment/domain/Memory"
import { memoryColumns, messageOf, messageTraits, traitsOf } from "@muniment/engine/text/MemoryText"
import { tokenize } from "@muniment/language/text/Tokenizer"

const message = (text: string, fields: object = {}) => ({
  kind: conversationMessageKind,
  data: { role: "user", text, ...fields },
  tags: []
})

describe("a message", () => {
  it("is its text, with the name or the role of its speaker", () => {
    expect(messageOf(message("Hello"))).toEqual({ text: "Hello", speaker: "user", isByUser: true })
    const named = message("Hello", { role: "assistant", name: " Ann Lee " })
    expect(messageOf(named)).toEqual({ text: "Hello", speaker: "Ann Lee", isByUser: false })
    expect(messageOf({ ...named, kind: "note" })).toBeUndefined()
    expect(messageOf({ ...named, data: { role: "user" } })).toBeUndefined()
  })

  it("is found by its text and its speaker, not by its fields", () => {
    const columns = memoryColumns({ ...message("Tea, please", { name: "Ann", sentAt: "2024-02-29T08:00:00Z" }) })
    expect(columns.main).toEqual(tokenize("Tea, please"))
    expect(columns.subject).toEqual(["ann"])
  })

  it("is searched up to a length", () => {
    const text = `${"word ".repeat(Limits.searchedMessageLengthMax / 5)}beyond`
    expect(messageOf(message(text))?.text).toHaveLength(Limits.searchedMessageLengthMax)
  })
})

describe("traits", () => {
  const { isByUser, isShort, isSorted, onlyAsks, states } = messageTraits
  const ofSentences = Object.values(messageTraits).reduce((all, one) => all | one, 0)
  it.each([
    ["I moved to Rome.", states],
    ["Nice! im so happy for you", states],
    ["We've sold OUR boat. Do you want to see it?", states],
    ["What a day", 0],
    ["Did my parcel arrive?", onlyAsks],
    ["Really?! Where is it?", onlyAsks],
    ['Did he say "it is mine?"', onlyAsks],
    ["How are you? Fine here.", 0],
    ["How are you?\nI am fine", states],
    ["什么时候？", onlyAsks],
    ["Version 2.0 of it came out? Yes.", 0],
    ["The mean income of Miami", 0],
    ["...", 0],
    ["", 0]
  ])("of %j", (text, traits) => {
    expect(traitsOf(text, false) & ofSentences).toBe(traits | isShort | isSorted)
    expect(traitsOf(text, true) & ofSentences).toBe(traits | isShort | isSorted | isByUser)
  })

  it("of a text that is too long to have neighbours", () => {
    expect(traitsOf("x".repeat(Limits.neighbourMessageLengthMax), false)).toBe(isShort | isSorted)
    expect(traitsOf("x".repeat(Limits.neighbourMessageLengthMax + 1), false)).toBe(isSorted)
  })
})

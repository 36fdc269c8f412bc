/** What the console makes of data, browsers and messages: words that people read. */
import { describe, expect, it } from "vitest"
import {
  browserName,
  countOf,
  countOfCredits,
  deletionText,
  seen,
  seenJson,
  sentence,
  summary
} from "../../../packages/console/src/service/words.ts"

describe("the words of a memory in one line", () => {
  it.each([
    [{ subject: "Clara", preferenceType: "likes", preference: "dark roast coffee" }, "likes dark roast coffee"],
    [{ subject: "Clara", fact: "Clara lives in Leeds" }, "Clara lives in Leeds"],
    [
      { userId: "u1", taskType: "chore", title: "Mend the fence" },
      "title: Mend the fence · userId: u1 · taskType: chore"
    ]
  ])("%j begin with what is known", (data, words) => {
    expect(summary(data)).toBe(words)
  })
})

it.each([
  [0, "0 messages"],
  [1, "1 message"],
  [1_200, "1,200 messages"]
])("%i of a noun has the noun in its number", (value, words) => {
  expect(countOf(value, "message")).toBe(words)
})

it("signs that turn the direction of a text are seen by their names, and in JSON as what is stored", () => {
  const text = "open \u202egnp.exe\u2069"
  expect(seen(text)).toBe("open [U+202E]gnp.exe[U+2069]")
  expect(JSON.parse(seenJson(JSON.stringify({ text })))).toEqual({ text })
  expect(seen("\u200fשלום 👩\u200d💻")).toBe("\u200fשלום 👩\u200d💻")
})

describe("credits in words", () => {
  it.each([
    [1, "1 credit"],
    [0, "0 credits"],
    [1_000, "1,000 credits"]
  ])("%d", (value, words) => {
    expect(countOfCredits(value)).toBe(words)
  })
})

describe("a browser in words", () => {
  const webkit = "AppleWebKit/537.36 (KHTML, like Gecko)"
  it.each([
    [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${webkit} Chrome/149.0.0.0 Safari/537.36`, "Chrome 149 on Windows"],
    [`Mozilla/5.0 (Windows NT 10.0) ${webkit} Chrome/149.0.0.0 Safari/537.36 Edg/149.0.1.0`, "Edge 149 on Windows"],
    [`Mozilla/5.0 (X11; Linux x86_64) ${webkit} HeadlessChrome/153.0.0.0`, "Chrome without a window 153 on Linux"],
    ["Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox 140 on Linux"],
    [
      "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.4 Safari/605.1.15",
      "Safari 18 on macOS"
    ],
    [
      "Mozilla/5.0 (iPhone; CPU iPhone OS 18_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.4 Mobile/15E148 Safari/604.1",
      "Safari 18 on iPhone"
    ],
    [`Mozilla/5.0 (Linux; Android 10; K) ${webkit} Chrome/149.0.0.0 Mobile Safari/537.36`, "Chrome 149 on Android"],
    ["curl/8.14.1", "curl 8.14.1"],
    ["Mozilla/5.0 (compatible)", "an unknown browser"],
    ["", "an unknown browser"]
  ])("%s", (userAgent, words) => {
    expect(browserName(userAgent)).toBe(words)
  })
})

describe("a message of the service as a sentence", () => {
  it.each([
    ["the API key is unknown, expired or revoked", "The API key is unknown, expired or revoked."],
    ["minRelevance: must be at most 1", "minRelevance: must be at most 1."],
    ["The service does not answer.", "The service does not answer."],
    ["", ""]
  ])("%s", (message, words) => {
    expect(sentence(message)).toBe(words)
  })
})

describe("a deletion in words", () => {
  it.each([
    [{ subjectId: "clara", memories: 12 }, "subject clara: 12 memories deleted"],
    [
      { agentId: "desk", kind: "note", memories: 1, dryRun: true },
      "agent desk, kind note: 1 memory counted, none deleted"
    ],
    [{ memories: 3 }, "3 memories deleted"]
  ])("%j", (deletion, words) => {
    expect(deletionText(deletion)).toBe(words)
  })
})

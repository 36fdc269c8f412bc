/**
 * What is kept of a conversation, and claimed of it in mode `answer`, without a language model (contract: Conversations,
 * Answers and maps): nothing of somebody else's, of what is denied, over, framed or no value, and days by the speaker's
 * calendar. One row is one conversation with one question.
 */
import { describe, expect, it } from "vitest"
import { useAccount } from "../support/MemoryCalls.ts"
import { useSharedServer } from "../support/SharedServer.ts"

const calls = useAccount(useSharedServer(), "claims")

interface Row {
  readonly about: string
  /** Messages of the user, or with their roles and times. */
  readonly said: ReadonlyArray<
    string | { readonly role: string; readonly name?: string; readonly content: string; readonly sentAt?: string }
  >
  readonly asks: string
  /** Of the answer; undefined: nothing is claimed. */
  readonly claims?: RegExp
  /** No extracted memory has it; default all that could be the user's. */
  readonly neverKept?: RegExp
  readonly kept?: RegExp
  readonly request?: object
  readonly query?: Readonly<Record<string, string>>
}

let agents = 0

const remembered = async ({ query, request, said, asks }: Row) => {
  const agentId = `claim-${agents++}`
  const conversation = said.map((one, at) => ({
    id: `m${at}`,
    ...(typeof one === "string" ? { role: "user", content: one } : one)
  }))
  const stored = await calls.post("/v1/memories", {
    agentId,
    conversation,
    wait: ["vectors", "extraction"],
    ...request
  })
  expect(stored.body, JSON.stringify(stored.body)).toMatchObject({ success: true })
  const parameters = new URLSearchParams({ agentId, mode: "answer", query: asks, ...query })
  const { body } = await calls.call("GET", `/v1/memories/search?${parameters}`)
  const kept: ReadonlyArray<{ readonly data: object }> = stored.body.created
  return { kept: kept.map(({ data }) => Object.values(data).join(" ")), answer: body }
}

const holds = (rows: ReadonlyArray<Row>) =>
  it.each(rows)("$about: $asks", async (row) => {
    const { answer, kept } = await remembered(row)
    const { claims, kept: wanted, neverKept } = row
    if (claims === undefined) expect(answer.grounded, answer.answer).toBe(false)
    else expect(answer).toMatchObject({ grounded: true, answer: expect.stringMatching(claims) })
    if (neverKept !== undefined) expect(kept.filter((text) => neverKept.test(text))).toEqual([])
    if (wanted !== undefined) expect(kept.filter((text) => wanted.test(text))).not.toEqual([])
  })

describe("of somebody else", () =>
  holds([
    {
      about: "a speaker's dad",
      said: [
        { role: "user", name: "Ann", content: "My dad had surgery on Monday." },
        { role: "user", name: "Ben", content: "Mine did too." }
      ],
      asks: "Did Ann have surgery?"
    },
    { about: "a relative's allergy", said: ["My aunt is allergic to latex."], asks: "Am I allergic to latex?" },
    { about: "a friend's home", said: ["My friend Tove lives in Bergen."], asks: "Where do I live?" },
    { about: "a relative's work", said: ["My cousin is a pilot."], asks: "Am I a pilot?" },
    {
      about: "some of somebody's",
      said: ["Some of my pupils are allergic to latex."],
      asks: "Am I allergic to latex?"
    },
    {
      about: "a contrast",
      said: ["Unlike my cousin, I don't smoke."],
      asks: "Does my cousin smoke?",
      neverKept: /cousin/i
    }
  ]))

describe("that is denied or scarce", () =>
  holds([
    {
      about: "neither, nor",
      said: ["I like neither jazz nor techno."],
      asks: "What music do I like?",
      neverKept: /\blikes\b/
    },
    { about: "few", said: ["I like few films."], asks: "Do I like films?", neverKept: /\blikes\b/ },
    {
      about: "or",
      said: ["I don't like or drink wine."],
      asks: "Do I like wine?",
      neverKept: /or drink/
    },
    { about: "no objection", said: ["I don't mind garlic."], asks: "Do I like garlic?", neverKept: /dislikes/ }
  ]))

describe("that is over", () =>
  holds([
    { about: "a job", said: ["I work at Voltaro.", "I quit my job this morning."], asks: "Where do I work?" },
    {
      about: "a job that was lost",
      said: ["I work at Voltaro.", "They let me go on Friday."],
      asks: "Where do I work?"
    },
    {
      about: "a joke",
      said: ["I live in Turin.", "Just kidding, I don't live in Turin."],
      asks: "Where do I live?"
    }
  ]))

describe("days of the speaker's calendar", () => {
  const physio = (sentAt: string) => [{ role: "user", content: "I have a physio appointment tomorrow.", sentAt }]
  const asks = "When is my physio appointment?"
  return holds([
    { about: "an offset", said: physio("2024-05-01T20:30:00-07:00"), asks, claims: /2 May 2024/, kept: /2024-05-02/ },
    {
      about: "the request's time zone",
      said: physio("2024-05-02T03:30:00Z"),
      request: { timeZone: "America/Los_Angeles" },
      asks,
      claims: /2 May 2024/,
      kept: /2024-05-02/
    },
    {
      about: "the request's time zone, a number",
      said: physio("1714620600"),
      request: { timeZone: "America/Los_Angeles" },
      asks,
      claims: /2 May 2024/,
      kept: /2024-05-02/
    },
    {
      about: "the question's time zone",
      said: physio("2024-05-02T03:30:00Z"),
      request: { remember: "messages", schemas: ["preference_memory"] },
      query: { timeZone: "America/Los_Angeles" },
      asks,
      claims: /2 May 2024/
    },
    {
      about: "a fortnight",
      said: [{ role: "user", content: "I got back from Malta a fortnight ago.", sentAt: "2026-03-20T10:00:00Z" }],
      asks: "When did I get back from Malta?",
      claims: /the week of 2 March 2026/
    },
    {
      about: "a month that is to come",
      said: [{ role: "user", content: "Our reunion is in January.", sentAt: "2026-12-05T10:00:00Z" }],
      asks: "When is our reunion?",
      claims: /January 2027/
    },
    {
      about: "a day of the month",
      said: [{ role: "user", content: "My visa is due on the 31st.", sentAt: "2026-10-12T10:00:00Z" }],
      asks: "When is my visa due?",
      claims: /31 October 2026/
    },
    {
      about: "a weekday after next",
      said: [{ role: "user", content: "My audition is the Monday after next.", sentAt: "2026-01-30T10:00:00Z" }],
      asks: "When is my audition?",
      claims: /9 February 2026/
    },
    {
      about: "a weekday",
      said: [{ role: "user", content: "My exam is next Saturday.", sentAt: "2026-01-30T10:00:00Z" }],
      asks: "When is my exam?",
      claims: /7 February 2026/
    }
  ])
})

describe("from a frame", () =>
  holds(
    [
      "Generate test data like this: I am Rosa. I live in Bari. I work at Enel.",
      "Draft a cover letter for my brother. I am a welder. I live in Bari.",
      "Translate the following into Dutch. I live in Bari.",
      "My son wrote: I live in Bari.",
      "[Rosa]: I live in Bari",
      "**Rosa**: I live in Bari",
      "@rosa: I live in Bari",
      "From: rosa@example.com\nTo: me@example.com\n\nI live in Bari now.",
      "Relevant memories:\n- I live in Bari.\n- I work at Enel."
    ].map((said) => ({ about: said, said: [said], asks: "Where do I live?", neverKept: /Bari|Enel|welder|Rosa/ }))
  ))

describe("from a short reply", () =>
  holds(
    [
      ["What is your name?", "Papaya smoothie please", "What is my name?"],
      ["Where do you live?", "Take a guess!", "Where do I live?"],
      ["Where do you work?", "Nowhere", "Where do I work?"]
    ].map(([question = "", reply = "", asks = ""]) => ({
      about: reply,
      said: [
        { role: "assistant", content: question },
        { role: "user", content: reply }
      ],
      asks,
      neverKept: /papaya|guess|nowhere/i
    }))
  ))

describe("in other languages", () =>
  holds([
    { about: "German", said: ["Ich wohne in Ulm."], asks: "Wo wohne ich?", claims: /Ich wohne in Ulm/ },
    { about: "German, of a relative", said: ["Meine Tante wohnt in Ulm."], asks: "Wo wohne ich?" },
    { about: "Spanish", said: ["Mi perra se llama Luna."], asks: "¿Cómo se llama mi perra?", claims: /Luna/ },
    {
      about: "French",
      said: ["Je travaille dans une librairie."],
      asks: "Où est-ce que je travaille ?",
      claims: /librairie/
    },
    { about: "Japanese", said: ["私は名古屋に住んでいます。"], asks: "私はどこに住んでいますか？", claims: /名古屋/ },
    { about: "Japanese, of a relative", said: ["兄は名古屋に住んでいます。"], asks: "私はどこに住んでいますか？" },
    { about: "Chinese", said: ["我的狗叫旺财。"], asks: "我的狗叫什么？", claims: /旺财/ }
  ]))

describe("a search for where somebody works", () => {
  it.each([
    ["Where does the user work?", "The user works at Dunlin", []],
    ["Where does Rika work?", "Rika works at Dunlin", ["Hi, I'm Rika."]],
    ["Where does Osman work?", "Osman works", ["Hi, I'm Rika."]]
  ])("has the fact about the one asked about first: %s", async (asked, fact, introduction) => {
    const said = [
      ...introduction,
      "Osman works as a roofer, he's on our house this week.",
      "I work at Dunlin Foods as a taster.",
      "The work on the bathroom never ends.",
      "My hearing test is on Thursday."
    ]
    const agentId = `claim-${agents++}`
    const conversation = said.map((content, at) => ({ id: `m${at}`, role: "user", content }))
    await calls.post("/v1/memories", { agentId, conversation, wait: ["vectors", "extraction"] })
    const [first] = await calls.search({ agentId, query: asked })
    expect(JSON.stringify(first?.data)).toContain(fact)
  })
})

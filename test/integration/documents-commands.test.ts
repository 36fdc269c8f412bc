/**
 * Every command of the README and of the handbook runs as it is written: exit code 0, and what it prints makes sense. A
 * block of a page has one row here; a block that says `# not tested: REASON` is listed with its reason.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { handbookPages } from "@muniment/server/handbook/HandbookPages"
import { blocksOf, DocumentReader } from "../support/DocumentCommands.ts"
import { isLongRun } from "../support/Repetitions.ts"
import { operatorKey, startServer, type TestServer } from "../support/TestServer.ts"

const pageTimeout = 600_000

/** What each block prints, in the order of the page. */
const printed: Readonly<Record<string, ReadonlyArray<RegExp>>> = {
  "README.md": [
    /Muniment is ready/,
    /^\s*$/,
    /"created":\[\{"id":"mem_[^]*"memories":\[[^]*"fact":"Alice lives in Seattle"/,
    /"created":\[\{[^]*Oslo[^]*"rejected":\[\]/,
    /"text":"[^]*Oslo[^]*"answer":"[^]*Oslo[^]*"grounded":true/,
    /"name":"contact"[^]*"uniqueOn":\["email"\]/,
    /What is remembered from earlier[^]*Oslo/,
    /4 memories of operator exported[^]*4 were there already/,
    /node-3 +http[^]*The operator's first key: \S+first-key/,
    /(?=[^]*owns control\.db)(?=[^]*Shards: \d+ of 1024 are held)(?=(?:[^]*127\.0\.0\.1:\d+ +\d\.\d s){3})/
  ],
  "packages/server/docs/operations.md": [
    /ok +write[^]*ok +search/,
    /"live"[^]*"ready"/,
    /Backup \d{8}T[^]*SIZE[^]*can be restored[^]*0 backups removed/,
    /is the service of/,
    /exported to backup\.jsonl[^]*were there already/,
    /mun_[\w-]{40}[^]*research[^]*research/,
    /"success":true,"deleted":\d+/,
    /Nothing was changed\. An erasure of research would remove:\n +\d+ agents/,
    /./,
    /^muniment_http_requests_total/m
  ],
  "packages/server/docs/context.md": [
    /"created":\[\{[^]*metric units/,
    /"text":"[^]*## Standing instructions\\n- Always answer in metric units[^]*nothing steep, my knee hurts/,
    /characters, 3 turns[^]*instructions: Call Tom Captain/
  ],
  "packages/server/docs/history.md": [
    /^true false\n.*Porto.*\n.*Lisbon.*\n.*Porto.*\nrestored: .*Porto.*\nextracted: .*Berlin.*\nextracted: .*Porto.*\nextracted: .*Lisbon/,
    /^\s*$/,
    /1 case written[^]*questions +hit@1/
  ],
  "packages/server/docs/conversations.md": [
    /Lisbon[^]*peanuts/,
    /(?=[^]*"skippedMessages":1)[^]*"created":\[\],"updated":\[\][^]*"existing":\[\{[^]*Lisbon/,
    /Lisbon[^]*"memoryMap"/
  ],
  "packages/server/docs/language-model.md": [/./],
  "packages/server/docs/search.md": [
    /"fact":"The library opens at nine"[^]*"explain"[^]*"lexical"/,
    /"memories":\[\{[^]*Book fair in Frankfurt/,
    /"text":"May I take my dog[^]*"around":\[\{[^]*On Sundays only/,
    /"fact":"The library opens at nine"[^]*"reranked":false/,
    /"fact":"The library opens at nine"/
  ],
  "packages/server/docs/mcp.md": [
    /"result":[^]*mem_/,
    /"x-subject-id": "user-42"/,
    /Eve keeps bees/,
    /"name":"memory_context"/
  ],
  "packages/server/docs/trust.md": [
    /0x[0-9a-fA-F]{40} 0x[0-9a-fA-F]{40}/,
    /"created":\[\{"id":"mem_/,
    /0x[0-9a-f]{40}/,
    /valid[^]*valid/i,
    /"revoked":true[^]*"memories":\[\]/,
    /valid/i,
    /valid: true/,
    /Signature Verified Successfully[^]*not expired/
  ],
  "packages/server/docs/money.md": [
    /"plan":"owner"[^]*0 credits would be charged/,
    /No day is due/,
    /Two payment chains/,
    /Muniment is ready/,
    /balance +500 credits[^]*1 settled\.\s+Everything adds up/,
    /operator, [\d-]+ to [\d-]+, in credits[^]*opening,,balance,,0[^]*received +base-sepolia +USDC[^]*0\.5/,
    /base-sepolia[^]*settled[^]*Everything adds up/
  ]
}

const notTested: Readonly<Record<string, ReadonlyArray<string>>> = {
  "packages/server/docs/language-model.md": Array.from({ length: 3 }, () => "needs a language model's server"),
  "packages/server/docs/benchmarks.md": ["takes 15 minutes and installs peers"]
}

/** The client's and the command line's READMEs explain calls in pieces that do not run alone; their tests run them. */
const pages = [
  "README.md",
  ...handbookPages.map(({ file }) => file).filter((file) => !/^packages\/(client|cli)\//.test(file))
]
/** Their commands start chains, a cluster or many programs; the README's start most of them every day. */
const longPages = new Set(["money", "operations", "trust"].map((name) => `packages/server/docs/${name}.md`))
const pagesToday = Object.keys(printed).filter((file) => isLongRun || !longPages.has(file))
const isCommand = ({ language }: { readonly language: string }): boolean => language === "sh" || language === "ts"

let server: TestServer

beforeAll(async () => {
  server = await startServer({ environment: { MUNIMENT_RATE_LIMITS: "on", MUNIMENT_MONTHLY_ALLOWANCE: "1000" } })
  const key = await server.newAccount("first", "owner")
  const body = { agentId: "a", conversation: [{ role: "user", content: "My name is Ann." }], wait: "extraction" }
  // A reader turns to a service that has been up for a while: the rules' thread is there.
  while ((await server.call("POST", "/v1/memories", { key, body })).body.extraction !== "done");
}, pageTimeout)
afterAll(() => server.stop())

describe("the commands of", () => {
  it("every page are known by their language", () => {
    const languages = new Set(pages.flatMap(blocksOf).map(({ language }) => language))
    expect([...languages].filter((language) => !["sh", "ts", "json", "text", "python"].includes(language))).toEqual([])
  })

  it("every page either have a row here, or say why they cannot be tested", () => {
    const marked = Object.fromEntries(
      pages.flatMap((file) => {
        const reasons = blocksOf(file).flatMap((block) => block.notTested ?? [])
        return reasons.length === 0 ? [] : [[file, reasons]]
      })
    )
    expect(marked).toEqual(notTested)
    const tested = pages.filter((file) => blocksOf(file).some((block) => isCommand(block) && !block.notTested))
    expect(tested.toSorted()).toEqual(Object.keys(printed).toSorted())
  })

  it.each(pagesToday)("%s do what the page says", { timeout: pageTimeout }, async (file) => {
    const blocks = blocksOf(file).filter((block) => isCommand(block) && block.notTested === undefined)
    expect(blocks.length).toBe(printed[file]!.length)
    const { dataDirectory, url } = server
    const reader = new DocumentReader({ url, key: operatorKey, dataDirectory })
    try {
      for (const [at, block] of blocks.entries()) {
        const isStart = block.text === "npm start\n" && block.terminal === undefined
        await settled()
        const output = isStart ? server.output() : await reader.run(block)
        expect(output, `${file}:${block.line}`).toMatch(printed[file]![at]!)
      }
    } finally {
      await reader.close()
    }
  })
})

/** Nobody types the next command before the memories of the last one have their vectors. */
const settled = async (): Promise<void> => {
  for (;;) {
    const { conversations, embedding } = (await server.call("GET", "/health/ready")).body.checks
    if (embedding.pending === 0 && conversations.pending === 0) return
    await new Promise((wake) => setTimeout(wake, 20))
  }
}

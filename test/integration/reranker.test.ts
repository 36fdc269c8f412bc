/** `MUNIMENT_RERANKER` through the real service: hits in the model's order, its time in `explain`, and what fails keeps it. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { sectionOf } from "../support/FencedPrompt.ts"
import { ModelServer } from "../support/ModelServer.ts"
import { answer, status } from "../support/ModelServerReplies.ts"
import { startServer, type TestServer } from "../support/TestServer.ts"
import { writeTinyReranker } from "../support/tinyReranker.ts"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"

const facts = ["The tram stops at the mill", "The tram stops at the harbour", "The tram rusts", "A tram of gold"]
const weights = { harbour: 1, rusts: 5, gold: -2, tram: 0.5 }
const wanted = [facts[2], facts[1], facts[0], facts[3]]

interface Found {
  readonly memories: ReadonlyArray<{
    readonly data: { readonly fact: string }
    readonly explain?: { readonly moved?: string }
  }>
  readonly explain: { readonly rerank?: { readonly model: string; readonly hits: number; readonly millis: number } }
}

const folder = temporaryDirectory()

const started = (reranker: string, others: Readonly<Record<string, string>> = {}): Promise<TestServer> =>
  startServer({ environment: { MUNIMENT_EMBEDDING_MODEL: "none", MUNIMENT_RERANKER: reranker, ...others } })

const store = async (server: TestServer) => {
  const memories = facts.map((fact) => ({ kind: "factual_memory", data: { subject: "tram", fact } }))
  const { status } = await server.call("POST", "/v1/memories", { body: { agentId: "a", memories } })
  expect(status).toBe(200)
}

const search = async (server: TestServer, others = ""): Promise<Found> => {
  const { body } = await server.call("GET", `/v1/memories/search?query=tram&agentId=a&explain=true${others}`)
  expect(body, JSON.stringify(body)).toMatchObject({ success: true })
  return body
}

/** Until the model has been loaded. */
const ranked = async (server: TestServer): Promise<Found> => {
  for (;;) {
    const found = await search(server)
    if ((found.explain.rerank?.hits ?? 0) > 0) return found
    await new Promise((wake) => setTimeout(wake, 50))
  }
}

describe("a configured re-ranker", () => {
  let server: TestServer
  const model = join(folder, "model")
  beforeAll(async () => {
    writeTinyReranker(model, weights)
    server = await started(model)
    await store(server)
  })
  afterAll(() => server.stop())

  it("puts hits in its order, says which it moved up, and how long it took", async () => {
    const { explain, memories } = await ranked(server)
    expect(memories.map(({ data }) => data.fact)).toEqual(wanted)
    expect(explain.rerank).toEqual({ model, hits: facts.length, millis: expect.any(Number), credits: 0 })
    expect(memories.map((hit) => hit.explain?.moved)).toContain("put higher by the re-ranking model")
    expect(memories.at(-1)?.explain?.moved).toBeUndefined()
  })

  it("looks at more hits than are wanted", async () => {
    await ranked(server)
    const { memories } = await search(server, "&limit=1")
    expect(memories.map(({ data }) => data.fact)).toEqual(wanted.slice(0, 1))
  })

  it("does not touch a map", async () => {
    const { explain } = await search(server, "&mode=map")
    expect(explain.rerank).toBeUndefined()
  })
})

describe("a re-ranker beside a language model", () => {
  it("puts hits in order where that is not asked, or fails", async () => {
    const model = join(folder, "beside")
    writeTinyReranker(model, weights)
    const llm = await ModelServer.start()
    const server = await started(model, {
      ...llm.environment()
    })
    await store(server)
    await ranked(server)
    llm.otherwise = ({ prompt }) => {
      const lines = sectionOf(prompt, "MEMORIES") as ReadonlyArray<{ readonly n: number; readonly text: string }>
      return answer({ order: lines.flatMap(({ n, text }) => (text.startsWith(facts[3]!) ? [n] : [])) })
    }
    const byModel = await search(server, "&rerank=model")
    expect(byModel.memories[0]?.data.fact).toBe(facts[3])
    expect(byModel.explain.rerank).toMatchObject({ model: "scripted", hits: facts.length })
    llm.otherwise = () => status(401)
    const failed = await search(server, "&rerank=model")
    expect(failed.memories.map(({ data }) => data.fact)).toEqual(wanted)
    expect(failed).toMatchObject({ reranked: false, rerankProblem: { code: "model_rejected" } })
    expect(failed.explain.rerank).toMatchObject({ model, hits: facts.length })
    expect(await search(server)).not.toHaveProperty("reranked")
    await server.stop()
    await llm.close()
  })
})

describe("a re-ranker by its file", () => {
  it("is found beside its tokenizer", async () => {
    const named = join(folder, "named")
    writeTinyReranker(named, weights)
    const server = await started(join(named, "onnx", "model.onnx"))
    await store(server)
    expect((await ranked(server)).memories.map(({ data }) => data.fact)).toEqual(wanted)
    await server.stop()
  })
})

describe("a re-ranker that cannot be used", () => {
  const broken = join(folder, "broken")
  it.each([
    ["is not there", join(folder, "none")],
    ["is broken", broken]
  ])("%s: hits keep their order", async (_, model) => {
    writeTinyReranker(broken, weights)
    writeFileSync(join(broken, "onnx", "model.onnx"), "no network")
    const server = await started(model)
    await store(server)
    const { explain, memories } = await search(server)
    expect(explain.rerank).toMatchObject({ model, hits: 0 })
    expect(memories.map(({ data }) => data.fact).toSorted()).toEqual(facts.toSorted())
    expect(memories.every((hit) => hit.explain?.moved === undefined)).toBe(true)
    await server.stop()
  })
})

/**
 * Planned stops of a cluster's nodes, one after the other, while callers write through all of them: whatever a caller is
 * told meanwhile says that the write may come again, and repeated under its Idempotency-Key it is there once.
 */
import { afterAll, beforeAll, expect, it } from "vitest"
import type { ClusterProcesses } from "../../scripts/cluster/ClusterProcesses.ts"
import { startThreeNodes } from "../support/clusterEnvironment.ts"
import { fact } from "../support/MemoryCalls.ts"
import { type Answer, patienceMillis, serverCalls } from "../support/TestServer.ts"

const operatorToken = "the operator's token of planned stops"
const callers = 6
/** One answer lists them. */
const memoriesPerAgent = 100
/** Between two writes of a caller, and before a write is asked again. */
const pauseMillis = 20

let cluster: ClusterProcesses

beforeAll(async () => {
  cluster = await startThreeNodes(operatorToken)
}, patienceMillis)
afterAll(() => cluster?.stop())

interface Write {
  readonly agent: string
  readonly number: number
  readonly id: string
}

/** What says neither that a write is done nor that it may come again. */
const objections: Array<string> = []
let written = 0
let turn = 0

const attempt = (agent: string, number: number): Promise<Answer | undefined> => {
  const node = cluster.nodes[turn++ % cluster.nodes.length]!
  return serverCalls(node.url, operatorToken)
    .call("POST", "/v1/memories", {
      body: { agentId: agent, memories: [fact(agent, `fact ${number}`)] },
      headers: { "idempotency-key": `write ${number}` }
    })
    .catch(() => undefined)
}

/** Node after node, until one has it. */
const write = async (agent: string, number: number): Promise<Write> => {
  for (const until = Date.now() + patienceMillis; ; await pause()) {
    const answer = await attempt(agent, number)
    if (answer?.status === 200) return { agent, number, id: answer.body.created[0].id }
    if (answer !== undefined && (answer.status !== 503 || answer.headers.get("retry-after") === null))
      objections.push(`${answer.status} ${JSON.stringify(answer.body)}`)
    if (Date.now() > until) throw new Error(`no answer to write ${number}: ${JSON.stringify(answer?.body)}`)
  }
}

const pause = () => new Promise((resume) => setTimeout(resume, pauseMillis))

it("a planned stop of any node loses no write that is repeated under its key, and doubles none", async () => {
  const writes: Array<Write> = []
  const over = new AbortController()
  const calling = Promise.all(
    Array.from({ length: callers }, async (_, caller) => {
      for (let mine = 0; !over.signal.aborted; mine++) {
        writes.push(await write(`caller-${caller}-${Math.floor(mine / memoriesPerAgent)}`, ++written))
        await pause()
      }
    })
  )
  // The owner of `control.db` is one of them.
  for (const node of cluster.nodes) {
    const before = writes.length
    await expect.poll(() => writes.length).toBeGreaterThan(before + callers)
    expect(await node.stop(), node.output()).toBe(0)
    const after = writes.length
    await expect.poll(() => writes.length).toBeGreaterThan(after + callers)
    await node.startAgain()
  }
  over.abort()
  await calling

  expect(objections).toEqual([])
  for (const { agent, id, number } of writes) expect((await write(agent, number)).id).toBe(id)
  const [node] = cluster.nodes
  for (const agent of new Set(writes.map((one) => one.agent))) {
    const mine = writes.filter((one) => one.agent === agent)
    expect(await listed(node!.url, agent)).toEqual(mine.map(({ id }) => id).toSorted())
  }
})

const listed = async (url: string, agent: string): Promise<ReadonlyArray<string>> => {
  const path = `/v1/memories?agentId=${agent}&limit=100`
  const { body, status } = await serverCalls(url, operatorToken).call("GET", path)
  expect(status, JSON.stringify(body)).toBe(200)
  return body.memories.map(({ id }: { readonly id: string }) => id).toSorted()
}

/**
 * Cost of a filter by values of the data: lists and searches of one agent with and without it, in turn in one run, over
 * HTTP. The first filter of an agent, a value that was asked for before, and a new one are timed apart. Totals and hits
 * are compared with what was written before anything is timed.
 */
import { parseArgs } from "node:util"
import { importShelves } from "../../test/support/ShelfRecords.ts"
import { startServer, type TestServer } from "../../test/support/TestServer.ts"
import { machineFacts } from "../http/Report.ts"
import { answerHelp, wholeNumber } from "../Usage.ts"
import { median } from "../kit/Measure.ts"

const help = `node bench/request/dataFilters.ts [options]

  --memories N    memories of the agent (20000)
  --rounds N      rounds, each with every kind of call (60)
  --help          this text
`

const shelves = 97
const shelfOf = (at: number) => at % shelves

const shelvedAt = (at: number) => ({
  subjectId: `delivery-${at % 89}`,
  threadId: `delivery-${at % 89}`,
  data: { subject: `shelf ${shelfOf(at)}`, fact: `Item ${at} came with delivery ${at % 89} of the warehouse.` }
})

const measure = async (server: TestServer, memories: number, rounds: number): Promise<void> => {
  const key = await server.newAccount("large", "owner")
  await importShelves(server, { account: "large", count: memories, namespace: 1 }, shelvedAt)
  const onShelf = (shelf: number) => Math.ceil((memories - shelf) / shelves)
  const filterOf = (shelf: number) => `data=${encodeURIComponent(JSON.stringify({ subject: `shelf ${shelf}` }))}`
  const get = async (path: string) => {
    const began = performance.now()
    const { body, status } = await server.call("GET", path, { key })
    if (status !== 200) throw new Error(`${path} answered ${status}`)
    return { body, millis: performance.now() - began }
  }
  const isOn = (found: ReadonlyArray<{ readonly data: { readonly subject: string } }>, shelf: number) =>
    found.length > 0 && found.every(({ data }) => data.subject === `shelf ${shelf}`)
  const list = async (shelf?: number) => {
    const { body, millis } = await get(`/v1/memories?limit=20${shelf === undefined ? "" : `&${filterOf(shelf)}`}`)
    const isRight =
      shelf === undefined ? body.total === memories : body.total === onShelf(shelf) && isOn(body.memories, shelf)
    if (!isRight) throw new Error("a list is wrong")
    return millis
  }
  const search = async (at: number, shelf?: number) => {
    const query = encodeURIComponent(`delivery ${at % 89} warehouse`)
    const { body, millis } = await get(
      `/v1/memories/search?query=${query}&limit=10${shelf === undefined ? "" : `&${filterOf(shelf)}`}`
    )
    const isRight = body.memories.length === 10 && (shelf === undefined || isOn(body.memories, shelf))
    if (!isRight) throw new Error("a search is wrong")
    return millis
  }
  // The first of all: nothing of the agent was read for a filter before.
  const first = await list(0)
  const kinds: Readonly<Record<string, (at: number) => Promise<number>>> = {
    "list, no filter": () => list(),
    "list, a new value": (at) => list(at % shelves),
    "list, the same value": (at) => list(at % shelves),
    "search, no filter": (at) => search(at),
    "search, a new value": (at) => search(at, (at + 48) % shelves),
    "search, the same value": (at) => search(at, (at + 48) % shelves)
  }
  const millis = new Map(Object.keys(kinds).map((name) => [name, [] as Array<number>]))
  for (let round = 0; round < rounds + 10; round++) {
    for (const [name, once] of Object.entries(kinds)) {
      const took = await once(round)
      if (round >= 10) millis.get(name)!.push(took)
    }
  }
  console.log(machineFacts())
  console.log(`${memories} memories, ${rounds} rounds; milliseconds, median`)
  console.log(`${"list, the first filter".padEnd(24)} ${first.toFixed(2).padStart(8)}`)
  for (const [name, took] of millis) {
    const plain = millis.get(`${name.split(",")[0]!}, no filter`)!
    console.log(
      `${name.padEnd(24)} ${median(took).toFixed(2).padStart(8)}  ${median(took.map((one, at) => one / plain[at]!)).toFixed(2)} x`
    )
  }
}

answerHelp(help)
const { values } = parseArgs({
  options: {
    memories: { type: "string", default: "20000" },
    rounds: { type: "string", default: "60" }
  }
})
const [memories, rounds] = [wholeNumber("memories", values.memories), wholeNumber("rounds", values.rounds)]
const server = await startServer({ environment: { MUNIMENT_EMBEDDING_MODEL: "none" } })
try {
  await measure(server, memories, rounds)
} finally {
  await server.stop()
}

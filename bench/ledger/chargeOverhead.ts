/**
 * Cost that charging adds to a search: the same searches with and without it, in alternating short blocks of one
 * process, by processor time. No model, so that a search is as cheap as it gets; the ledger is the real one, and its
 * commits are timed apart. Every answer and the sum charged are checked.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { ConfigProvider, Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import type { PricedCall } from "@muniment/domain/api/Middleware"
import { Prices } from "@muniment/domain/Plans"
import { Accounts } from "@muniment/control/accounts/Accounts"
import { ApiKeyStore } from "@muniment/control/accounts/ApiKeyStore"
import { Ledger } from "@muniment/control/credits/Ledger"
import { checkLedger } from "@muniment/control/LedgerCheck"
import { serverLayer } from "@muniment/server/ServerLayer"
import { ServerConfig } from "@muniment/server/Config"
import { ChargedCalls, freeCall } from "@muniment/server/credits/ChargedCalls"
import { httpCarrier } from "@muniment/server/credits/PaymentCarrier"
import { MemoryService } from "@muniment/server/memories/MemoryService"
import { CallerSearch } from "@muniment/server/search/CallerSearch"
import { searchQuery } from "@muniment/server/search/SearchQuery"
import { sentences } from "../../test/support/Sentences.ts"
import { BenchServer, benchKey } from "../http/BenchServer.ts"
import { HttpClient } from "../http/HttpClient.ts"
import { machineFacts } from "../http/Report.ts"
import { answerHelp, wholeNumber } from "../Usage.ts"

const help = `node bench/ledger/chargeOverhead.ts [options]

Compares the processor time of charged and uncharged searches in one process.

  --memories N    memories of the account (5000)
  --pairs N       pairs of blocks of 20 searches, one with and one without (1000)
  --help          this text
`

const batch = 100
const hitsWanted = 10
/** Short, so that whatever else the machine does meets both kinds alike. */
const blockSearches = 20
const warmUpPairs = 100
/** More commits than the service makes: about one in 0.15 s, where it waits for 0.25. */
const pairsPerCommit = 5

/** Searches over HTTP, after as many to warm up. */
const requests = 3_000

/** Microseconds of processor time a search, by block; of commits what a charged search has of one. */
interface Figures {
  readonly plain: Array<number>
  readonly charged: Array<number>
  readonly commits: Array<number>
}

const program = Effect.fnUntraced(function* (memories: number, pairs: number) {
  const account = yield* (yield* Accounts).create("bench")
  yield* (yield* ApiKeyStore).create(account, "bench", benchKey)
  const service = yield* MemoryService
  const searches = yield* CallerSearch
  const calls = yield* ChargedCalls
  const ledger = yield* Ledger
  yield* ledger.adjust({ account, amount: 1e15, key: "bench", reason: "bench" })
  const caller = { account, keyId: "key_bench" }
  const free = freeCall(caller, undefined)
  const texts = sentences(memories)
  for (let at = 0; at < memories; at += batch) {
    const part = texts.slice(at, at + batch)
    const facts = part.map((fact) => ({ kind: "factual_memory", data: { subject: "bench", fact } }))
    yield* service.create(free, { agentId: "bench", memories: [facts[0]!, ...facts.slice(1)] })
  }
  const queries = queriesOf(texts)
  const searchWith = Effect.fnUntraced(function* (call: PricedCall, at: number) {
    const query = yield* searchQuery({ query: queries[at % queries.length]!, scope: "own" }, undefined)
    const result = yield* searches.search(call, query)
    const hits = "memories" in result ? result.memories.length : 0
    if (hits !== hitsWanted) throw new Error(`${hits} hits instead of ${hitsWanted}`)
  })
  const carrier = () => httpCarrier(HttpServerRequest.fromWeb(new Request("http://127.0.0.1/v1/memories/search")))
  const search = (at: number) => searchWith(free, at)
  const operation = {
    caller,
    operation: "search",
    price: Prices.searchMemories,
    isWrite: false,
    token: undefined,
    carrier,
    onAgent: () => undefined
  }
  const charged = (at: number) => calls.charge(operation, (call) => searchWith(call, at))

  const timed = Effect.fnUntraced(function* <E>(work: Effect.Effect<unknown, E>) {
    const before = process.cpuUsage()
    yield* work
    const { system, user } = process.cpuUsage(before)
    return system + user
  })
  let asked = 0
  const block = <E>(one: (at: number) => Effect.Effect<unknown, E>) =>
    timed(
      Effect.gen(function* () {
        for (let at = 0; at < blockSearches; at++) yield* one(asked++)
      })
    )
  const figures: Figures = { plain: [], charged: [], commits: [] }
  for (let pair = 0; pair < warmUpPairs + pairs; pair++) {
    const isFirst = pair % 2 === 0
    const one = yield* block(isFirst ? search : charged)
    const two = yield* block(isFirst ? charged : search)
    const commit = (pair + 1) % pairsPerCommit === 0 ? yield* timed(ledger.flush) : 0
    if (pair < warmUpPairs) continue
    figures.plain.push((isFirst ? one : two) / blockSearches)
    figures.charged.push((isFirst ? two : one) / blockSearches)
    if (commit > 0) figures.commits.push(commit / (pairsPerCommit * blockSearches))
  }
  const { allowance, balance } = yield* ledger.purses(account)
  const spent = 1e15 + 1e9 - allowance - balance
  if (spent !== (pairs + warmUpPairs) * blockSearches * Prices.searchMemories)
    throw new Error(`charged ${spent} millionths`)
  const report = yield* checkLedger
  if (!report.ok) throw new Error(report.problems.join("; "))
  return figures
})

const queriesOf = (texts: ReadonlyArray<string>) => texts.filter((_, at) => at % Math.ceil(texts.length / 200) === 0)
const percent = (share: number): string => `${(share * 100).toFixed(1)} %`

/** Microseconds of processor time of a whole, charged search over HTTP, all threads of the server. */
const searchOverHttp = async (dataDirectory: string, queries: ReadonlyArray<string>): Promise<number> => {
  const environment = {
    MUNIMENT_EMBEDDING_MODEL: "none",
    MUNIMENT_INDEX: "exact",
    MUNIMENT_RATE_LIMITS: "off",
    MUNIMENT_BOOTSTRAP_KEY: "mun_another_key_0123456789abcdefghijklm"
  }
  const server = await BenchServer.start({ dataDirectory, environment })
  try {
    const client = new HttpClient(server.port)
    const ask = async () => {
      for (let at = 0; at < requests; at++) {
        const query = encodeURIComponent(queries[at % queries.length]!)
        await client.text("GET", `/v1/memories/search?query=${query}&scope=own`)
      }
    }
    await ask()
    const before = server.processorTime()
    await ask()
    const after = server.processorTime()
    const millis = after.mainMillis - before.mainMillis + after.otherMillis - before.otherMillis
    return (millis * 1_000) / requests
  } finally {
    await server.stop()
  }
}

const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)]!

const main = async (): Promise<void> => {
  answerHelp(help)
  const { values } = parseArgs({
    options: {
      memories: { type: "string", default: "5000" },
      pairs: { type: "string", default: "1000" }
    }
  })
  const [memories, pairs] = [wholeNumber("memories", values.memories), wholeNumber("pairs", values.pairs)]
  const directory = mkdtempSync(join(tmpdir(), "muniment-charge-bench-"))
  try {
    const config = await Effect.runPromise(
      ServerConfig.pipe(
        Effect.provide(
          ConfigProvider.layer(
            ConfigProvider.fromUnknown({ MUNIMENT_DATA_DIR: directory, MUNIMENT_EMBEDDING_MODEL: "none" })
          )
        )
      )
    )
    const { charged, commits, plain } = await Effect.runPromise(
      program(memories, pairs).pipe(
        Effect.provide(serverLayer({ ...config, index: "exact" }, undefined)),
        Effect.scoped
      )
    )
    const [without, withCharge, commit] = [median(plain), median(charged), median(commits)]
    const charge = withCharge + commit - without
    const whole = await searchOverHttp(directory, queriesOf(sentences(memories)))
    process.stdout.write(
      [
        machineFacts(),
        `${memories} memories, ${pairs} pairs of blocks of ${blockSearches} searches; medians, microseconds of processor a search`,
        `without charging ${without.toFixed(0)}, with ${withCharge.toFixed(0)}, its share of a commit ${commit.toFixed(0)}`,
        `a charge is ${charge.toFixed(0)}: ${percent(charge / without)} of the search inside the service,`,
        `${percent(charge / (whole - charge))} of the request, which takes ${(whole - charge).toFixed(0)} without it (HTTP, credentials, JSON)`,
        ""
      ].join("\n")
    )
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

await main()

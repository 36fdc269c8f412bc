/**
 * What charging adds to a search: the same searches with and without it, in alternating short blocks of one
 * process, by processor time. No model, so that a search is as cheap as it gets; the ledger is the real
 * one, and its commits are timed apart. Every answer and the sum charged are checked.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { ConfigProvider, Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { Prices } from "@muniment/domain/Prices"
import { Accounts } from "@muniment/ledger/Accounts"
import { ApiKeyStore } from "@muniment/ledger/ApiKeyStore"
import { Ledger } from "@muniment/ledger/Ledger"
import { checkLedger } from "@muniment/ledger/LedgerCheck"
import { serverLayer } from "@muniment/server/App"
import { ServerConfig } from "@muniment/server/Config"
import { ChargedCalls } from "@muniment/server/credits/ChargedCalls"
import { MemoryService } from "@muniment/server/memories/MemoryService"
import { MemoryRecall } from "@muniment/server/sharing/MemoryRecall"
import { sentences } from "../../test/support/Sentences.ts"
import { BenchServer, benchKey } from "../http/BenchServer.ts"
import { HttpClient } from "../http/HttpClient.ts"
import { machineFacts } from "../http/Report.ts"

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
  const { recall } = yield* MemoryRecall
  const calls = yield* ChargedCalls
  const ledger = yield* Ledger
  yield* ledger.adjust({ account, amount: 1e15, key: "bench", reason: "bench" })
  const texts = sentences(memories)
  for (let at = 0; at < memories; at += batch) {
    const part = texts.slice(at, at + batch)
    const facts = part.map((fact) => ({ kind: "factual_memory", data: { subject: "bench", fact } }))
    yield* service.create(account.id, { agentId: "bench", memories: facts }, undefined)
  }
  const queries = queriesOf(texts)
  const caller = { account, keyId: "key_bench" }
  const search = (at: number) =>
    Effect.map(
      recall(caller, {
        queries: [{ text: queries[at % queries.length]!, filter: {} }],
        scope: "own",
        grants: undefined,
        explain: false
      }),
      ({ results }) => {
        if (results[0]?.length !== hitsWanted) throw new Error(`${results[0]?.length} hits instead of ${hitsWanted}`)
      }
    )
  const charged = (at: number) =>
    calls.charge({ account, operation: "search", price: Prices.searchMemories, isWrite: false }, search(at))

  const timed = Effect.fnUntraced(function* <E>(work: Effect.Effect<unknown, E, HttpServerRequest.HttpServerRequest>) {
    const before = process.cpuUsage()
    yield* work
    const { system, user } = process.cpuUsage(before)
    return system + user
  })
  let asked = 0
  const block = <E>(one: (at: number) => Effect.Effect<unknown, E, HttpServerRequest.HttpServerRequest>) =>
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
  const { values } = parseArgs({
    options: {
      memories: { type: "string", default: "5000" },
      pairs: { type: "string", default: "1000" },
      help: { type: "boolean", default: false }
    }
  })
  if (values.help) return void process.stdout.write(help)
  const [memories, pairs] = [Number(values.memories), Number(values.pairs)]
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
    const request = HttpServerRequest.fromWeb(new Request("http://127.0.0.1/v1/memories/search"))
    const { charged, commits, plain } = await Effect.runPromise(
      program(memories, pairs).pipe(
        Effect.provideService(HttpServerRequest.HttpServerRequest, request),
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

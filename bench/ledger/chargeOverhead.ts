/**
 * What charging adds to a search: the same searches with and without it, in alternating rounds of one
 * process, by processor time. No model, so that a search is as cheap as it gets; the ledger is the real
 * one, and its commits fall into the rounds that made them. Every answer and the sum charged are checked.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { ConfigProvider, Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { Prices } from "@muniment/domain/Prices"
import { Accounts } from "@muniment/ledger/Accounts"
import { Ledger } from "@muniment/ledger/Ledger"
import { checkLedger } from "@muniment/ledger/LedgerCheck"
import { serverLayer } from "@muniment/server/App"
import { ServerConfig } from "@muniment/server/Config"
import { ChargedCalls } from "@muniment/server/credits/ChargedCalls"
import { MemoryService } from "@muniment/server/memories/MemoryService"
import { MemoryRecall } from "@muniment/server/sharing/MemoryRecall"
import { sentences } from "../../test/support/Sentences.ts"
import { machineFacts } from "../http/Report.ts"

const help = `node bench/ledger/chargeOverhead.ts [options]

Compares the processor time of charged and uncharged searches in one process.

  --memories N    memories of the account (5000)
  --searches N    searches of a round (200)
  --rounds N      rounds of each kind (101)
  --help          this text
`

const batch = 100
const hitsWanted = 10
const warmUpRounds = 5
/** Other work on the machine only ever adds to a round; this far from below, it added least. */
const undisturbedShare = 0.25

const program = Effect.fnUntraced(function* (memories: number, searches: number, rounds: number) {
  const account = yield* (yield* Accounts).create("bench")
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
  const queries = texts.filter((_, at) => at % Math.ceil(memories / 200) === 0)
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

  const round = Effect.fnUntraced(function* (
    one: (at: number) => Effect.Effect<unknown, unknown, HttpServerRequest.HttpServerRequest>
  ) {
    const before = process.cpuUsage()
    for (let at = 0; at < searches; at++) yield* one(at)
    yield* ledger.flush
    const { system, user } = process.cpuUsage(before)
    return (system + user) / searches
  })
  for (let at = 0; at < warmUpRounds; at++) {
    yield* round(search)
    yield* round(charged)
  }
  const pairs: Array<readonly [number, number]> = []
  for (let at = 0; at < rounds; at++) {
    const first = at % 2 === 0
    const one = yield* round(first ? search : charged)
    const two = yield* round(first ? charged : search)
    pairs.push(first ? [one, two] : [two, one])
  }
  const { allowance, balance } = yield* ledger.purses(account)
  const spent = 1e15 + 1e9 - allowance - balance
  if (spent !== (rounds + warmUpRounds) * searches * Prices.searchMemories)
    throw new Error(`charged ${spent} millionths`)
  const report = yield* checkLedger
  if (!report.ok) throw new Error(report.problems.join("; "))
  return pairs
})

const quantile = (values: ReadonlyArray<number>, share: number): number =>
  values.toSorted((left, right) => left - right)[Math.floor(values.length * share)]!
const percent = (share: number): string => `${(share * 100).toFixed(1)} %`

const main = async (): Promise<void> => {
  const { values } = parseArgs({
    options: {
      memories: { type: "string", default: "5000" },
      searches: { type: "string", default: "200" },
      rounds: { type: "string", default: "101" },
      help: { type: "boolean", default: false }
    }
  })
  if (values.help) return void process.stdout.write(help)
  const [memories, searches, rounds] = [Number(values.memories), Number(values.searches), Number(values.rounds)]
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
    const pairs = await Effect.runPromise(
      program(memories, searches, rounds).pipe(
        Effect.provideService(HttpServerRequest.HttpServerRequest, request),
        Effect.provide(serverLayer({ ...config, index: "exact" }, undefined)),
        Effect.scoped
      )
    )
    const plain = quantile(
      pairs.map(([without]) => without),
      undisturbedShare
    )
    const paid = quantile(
      pairs.map(([, charged]) => charged),
      undisturbedShare
    )
    const overheads = pairs.map(([without, charged]) => charged / without - 1)
    process.stdout.write(
      [
        machineFacts(),
        `${memories} memories, ${searches} searches a round, ${rounds} pairs of rounds; microseconds of processor a search`,
        `undisturbed rounds (lower quartile): without charging ${plain.toFixed(0)}, with ${paid.toFixed(0)}: overhead ${percent(paid / plain - 1)}`,
        `all pairs: median ${percent(quantile(overheads, 0.5))}, middle half ` +
          `${percent(quantile(overheads, 0.25))} to ${percent(quantile(overheads, 0.75))}`,
        ""
      ].join("\n")
    )
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

await main()

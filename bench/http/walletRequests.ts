/**
 * Cost of requests that a wallet signs: distinct signed requests, made before, against the same requests with a bearer
 * key, in alternating phases of one run; and how long the server's event loop stood still meanwhile. Every answer is
 * checked: an account, 200.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { Agent, request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { signWalletRequest } from "@muniment/trust/WalletRequest"
import { evmSigner, solanaSigner, type WalletSigner } from "@muniment/trust/WalletSigner"
import { answerHelp, wholeNumber } from "../Usage.ts"
import { BenchServer, benchKey } from "./BenchServer.ts"
import { HttpClient } from "./HttpClient.ts"
import type { ProbeReport } from "./probe.ts"
import { Reading } from "./Prometheus.ts"
import { machineFacts, spread } from "./Report.ts"
import { startProbe } from "./startProbe.ts"

const help = `node bench/http/walletRequests.ts [options]

Sends requests signed by wallets to a real server, and prints what a signature costs.

  --count N       distinct signed requests of each family (10000)
  --in-flight N   requests under way at once (64)
  --help          this text
`

type Headers = Readonly<Record<string, string>>

const path = "/v1/account"
const bearer: Headers = { authorization: `Bearer ${benchKey}` }
/** A stall this long is one too many (issue "Trust"). */
const stallMillisMax = 50
/** Long waits that are printed one by one. */
const shownMax = 12
const watchEveryMillis = 50
/** Signatures are made for a time ahead, so that the slowest machine still uses them inside the window. */
const aheadMillis = 90_000

interface Window {
  /** Longest wait of the server's event loop, by its own clock. */
  readonly stallMillis: number
  /**
   * Time in which its main thread was ready to run and the machine ran something else; all of the window,
   * so it may excuse a wait of ours that it was not part of.
   */
  readonly queuedMillis: number
}

interface Phase {
  readonly name: string
  readonly cpuMillis: number
  readonly latencies: ReadonlyArray<number>
  readonly seconds: number
  readonly windows: ReadonlyArray<Window>
  readonly probe: ProbeReport
}

const main = async (): Promise<void> => {
  answerHelp(help)
  const { values } = parseArgs({
    options: {
      count: { type: "string", default: "10000" },
      "in-flight": { type: "string", default: "64" }
    }
  })
  const [count, inFlight] = [wholeNumber("count", values.count), wholeNumber("in-flight", values["in-flight"])]
  const dataDirectory = mkdtempSync(join(tmpdir(), "muniment-wallet-bench-"))
  const server = await BenchServer.start({ dataDirectory, environment: { MUNIMENT_EMBEDDING_MODEL: "none" } })
  const run = (name: string, signed: ReadonlyArray<Headers>) => phase(server, name, signed, inFlight)
  const bearers = Array.from({ length: count }, () => bearer)
  try {
    await run("warm-up", bearers)
    const phases: Array<Phase> = []
    for (const [family, signer] of [
      ["EVM", evmSigner("5a".repeat(32))],
      ["Solana", solanaSigner(new Uint8Array(32).fill(0x5a))]
    ] as const) {
      const signed = await signAll(signer, count)
      phases.push(await run("bearer", bearers))
      phases.push(await run(`${family}, new signatures`, signed))
      phases.push(await run(`${family}, the same again`, signed))
    }
    phases.push(await run("bearer", bearers))
    report(phases, count, inFlight)
  } finally {
    await server.stop()
    rmSync(dataDirectory, { recursive: true, force: true })
  }
}

const signAll = async (signer: WalletSigner, count: number): Promise<ReadonlyArray<Headers>> => {
  const firstMillis = Date.now() + aheadMillis - count
  const signed: Array<Headers> = []
  for (let at = 0; at < count; at++) {
    const text = { method: "GET", path: "/account", body: "", timestampMillis: firstMillis + at }
    signed.push(await signWalletRequest(signer, text))
  }
  return signed
}

const phase = async (
  server: BenchServer,
  name: string,
  all: ReadonlyArray<Headers>,
  inFlight: number
): Promise<Phase> => {
  const agent = new Agent({ keepAlive: true, maxSockets: inFlight })
  const probe = await startProbe({ port: server.port, questions: [], healthEveryMillis: 10, askEveryMillis: 0 })
  const watch = startWatch(server)
  const before = server.processorTime().mainMillis
  const startedMillis = performance.now()
  const latencies: Array<number> = []
  let next = 0
  const sender = async () => {
    for (let at = next++; at < all.length; at = next++) latencies.push(await send(server.port, agent, all[at]!))
  }
  await Promise.all(Array.from({ length: inFlight }, sender))
  const seconds = (performance.now() - startedMillis) / 1_000
  const cpuMillis = server.processorTime().mainMillis - before
  const windows = await watch.stop()
  agent.destroy()
  return { name, cpuMillis, latencies, seconds, windows, probe: await probe.stop() }
}

/** Milliseconds; throws unless the answer is an account. */
const send = (port: number, agent: Agent, headers: Headers): Promise<number> =>
  new Promise((done, refuse) => {
    const startedMillis = performance.now()
    request({ host: "127.0.0.1", port, path, agent, headers }, (response) => {
      let body = ""
      response.setEncoding("utf8").on("data", (chunk: string) => (body += chunk))
      response.once("error", refuse).once("end", () => {
        if (response.statusCode === 200 && body.includes('"account"')) done(performance.now() - startedMillis)
        else refuse(new Error(`${response.statusCode}: ${body.slice(0, 300)}`))
      })
    })
      .once("error", refuse)
      .end()
  })

/** Reads again and again how long the loop stood still since the last reading. */
const startWatch = (server: BenchServer) => {
  const client = new HttpClient(server.port)
  const windows: Array<Window> = []
  const over = new AbortController()
  const read = async () => (await Reading.take(client)).gauge("muniment_event_loop_delay_max_seconds") * 1_000
  const watching = (async () => {
    await read()
    for (let queued = server.queuedMillis(); !over.signal.aborted;) {
      await new Promise((wake) => setTimeout(wake, watchEveryMillis))
      const stallMillis = await read()
      const now = server.queuedMillis()
      windows.push({ stallMillis, queuedMillis: now - queued })
      queued = now
    }
  })()
  return {
    stop: async (): Promise<ReadonlyArray<Window>> => {
      over.abort()
      await watching
      client.close()
      return windows
    }
  }
}

const report = (phases: ReadonlyArray<Phase>, count: number, inFlight: number): void => {
  const perRequest = ({ cpuMillis }: Phase) => cpuMillis / count
  const bearers = phases.filter(({ name }) => name === "bearer")
  const peer = bearers.reduce((sum, one) => sum + perRequest(one), 0) / bearers.length
  const load = readFileSync("/proc/loadavg", "utf8").split(" ")[0]
  process.stdout.write(`${machineFacts()}, load ${load}; ${count} requests a phase, ${inFlight} at once\n`)
  for (const one of phases) {
    const { latencies, name, probe, seconds, windows } = one
    const long = windows.filter(({ stallMillis }) => stallMillis > stallMillisMax)
    const shown = long.map(
      ({ queuedMillis, stallMillis }) => `${stallMillis.toFixed(0)} (queued ${queuedMillis.toFixed(0)})`
    )
    process.stdout.write(
      [
        `${name}: ${perRequest(one).toFixed(2)} ms processor a request (main thread), ${(perRequest(one) / peer).toFixed(1)} x bearer; ${(count / seconds).toFixed(0)}/s`,
        `  latency ${spread(latencies)}`,
        `  loop: longest wait by ${watchEveryMillis} ms: ${spread(windows.map(({ stallMillis }) => stallMillis))}`,
        `  waits above ${stallMillisMax} ms: ${long.length}${long.length > 0 ? `: ${shown.slice(0, shownMax).join(", ")}` : ""}`,
        `  /health/live: ${spread(probe.health)}; longest wait of an idle thread ${probe.ownDelayMaxMillis.toFixed(0)} ms`,
        ""
      ].join("\n")
    )
  }
}

await main()

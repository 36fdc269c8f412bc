/**
 * Kill -9 under concurrent writers, again and again on one data directory. Every writer knows what it
 * was told: what was acknowledged must be there after the restart, and what was cut off is sent again
 * with its Idempotency-Key and must then be there once.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { auditFiles, type Audit } from "./FileAudit.ts"
import { Ledger, type LedgerCalls, type Operation } from "./KillNineLedger.ts"
import { SeededRandom } from "./SeededRandom.ts"
import { patienceMillis, startServer, type TestServer } from "./TestServer.ts"

export interface KillNineReport {
  readonly cycles: number
  readonly acknowledged: Readonly<Record<Operation["kind"], number>>
  /** Requests that the kill cut off, and those of them that had been committed already. */
  readonly cutOff: number
  readonly committedBeforeCut: number
  readonly lost: ReadonlyArray<string>
  readonly duplicates: ReadonlyArray<string>
  readonly refused: ReadonlyArray<string>
  readonly faults: ReadonlyArray<string>
  /** Facts that were replaced or removed, of which a file still held the words a minute later or after the stop. */
  readonly notErased: ReadonlyArray<string>
  readonly files: Audit
}

const agents = ["agent-a", "agent-b", "agent-c"]
const writersPerAgent = 3
/** What the writers are told before the kill: as much on a busy machine as on an idle one. */
const answersBeforeKill = { least: 0, most: 80 }
/** The kill falls anywhere between two answers, milliseconds. */
const killMillisMax = 20

/** Every so many kills the service runs until the words of what was erased are gone: it has a minute for it. */
const erasureEach = 100

export interface KillNineOptions {
  /** Of the server; to load the model is much of a cycle. */
  readonly environment?: Readonly<Record<string, string>>
  /** After each cycle that found nothing wrong with what it looked at. */
  readonly onCycle?: (cycle: number) => void
}

export const runKillNine = async (
  cycles: number,
  seed: number,
  { onCycle, ...options }: KillNineOptions = {}
): Promise<KillNineReport> => {
  const dataDirectory = mkdtempSync(join(tmpdir(), "muniment-kill-"))
  const random = new SeededRandom(seed)
  const ledger = new Ledger(random)
  const faults: Array<string> = []
  const notErased: Array<string> = []
  let server = await startServer({ ...options, dataDirectory })
  try {
    await registerSlots(server)
    const model = await modelOf(server)
    for (let cycle = 0; cycle < cycles; cycle++) {
      const isOver = { now: false }
      const enough = untilAnswers(random.between(answersBeforeKill.least, answersBeforeKill.most))
      const writers = agents.flatMap((agent) =>
        Array.from({ length: writersPerAgent }, (_, at) =>
          write(server, ledger, `${agent}-w${at}`, agent, isOver, enough.count)
        )
      )
      await Promise.race([enough.reached, Promise.all(writers)])
      await new Promise((wake) => setTimeout(wake, random.between(0, killMillisMax)))
      isOver.now = true
      await server.kill()
      await Promise.all(writers)
      const left = auditFiles(dataDirectory, { model, ofEveryRow: false })
      faults.push(...left.faults.map((fault) => `after kill ${cycle}: ${fault}`))
      server = await startServer({ ...options, dataDirectory })
      await retry(server, ledger)
      await ledger.verifyTouched(server)
      const { duplicates, lost, refused } = ledger.report()
      if (duplicates.length + lost.length + refused.length + faults.length === 0) onCycle?.(cycle + 1)
      if ((cycle + 1) % erasureEach === 0) notErased.push(...(await untilErased(dataDirectory, ledger)))
    }
    await ledger.verifyAll(server, agents)
    await noVectorsPending(server)
    if ((await server.stop()) !== 0) faults.push("the last stop did not end with 0")
    notErased.push(...erasedWordsIn(dataDirectory, ledger))
    const files = auditFiles(dataDirectory, { model, ofEveryRow: model !== null })
    if (files.rows !== ledger.expectedCount) faults.push(`${files.rows} rows, expected ${ledger.expectedCount}`)
    return { ...ledger.report(), cycles, faults: [...faults, ...files.faults], notErased, files }
  } finally {
    if (server.process.exitCode === null && server.process.signalCode === null) await server.kill()
    rmSync(dataDirectory, { recursive: true, force: true })
  }
}

/** The report in one line, without the lists of what went wrong when there is nothing in them. */
export const killNineSummary = (seed: number, report: KillNineReport): string =>
  `kill -9: seed ${seed}, ${report.cycles} cycles, acknowledged ${JSON.stringify(report.acknowledged)}, ` +
  `${report.cutOff} requests cut off (${report.committedBeforeCut} of them committed already), ` +
  `lost ${report.lost.length}, twice ${report.duplicates.length}, refused ${report.refused.length}, ` +
  `faults in files ${report.faults.length}, not erased ${report.notErased.length}; ${report.files.rows} rows and ${report.files.vectors} vectors in ` +
  `${report.files.files} files at the end`

/** The kind of which there is one memory for each key. */
export const registerSlots = async (server: LedgerCalls): Promise<void> => {
  const schema = JSON.stringify({
    type: "object",
    properties: { key: { type: "string" }, value: { type: "string" } },
    required: ["key", "value"]
  })
  const made = await server.call("POST", "/v1/schemas", {
    body: { name: "slot", description: "One value for each key", uniqueOn: ["key"], schema }
  })
  if (made.status !== 200) throw new Error(`no schema: ${JSON.stringify(made.body)}`)
}

const modelOf = async (server: TestServer): Promise<string | null> => {
  const { body } = await server.call("GET", "/health/ready")
  return body.checks.embedding.state === "ready" ? body.checks.embedding.model : null
}

/** Vectors follow the writes; what a kill cut off is embedded after the next start. */
const noVectorsPending = async (server: TestServer): Promise<void> => {
  const isEmbedded = async () => (await server.call("GET", "/health/ready")).body.checks.embedding.pending === 0
  const deadline = Date.now() + patienceMillis
  while (!(await isEmbedded())) {
    if (Date.now() > deadline) throw new Error("vectors are still pending")
    await new Promise((wake) => setTimeout(wake, 50))
  }
}

const erasedWordsIn = (dataDirectory: string, ledger: Ledger): ReadonlyArray<string> =>
  readdirSync(dataDirectory, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .flatMap(({ name, parentPath }) =>
      ledger.erasedWordsIn(bytesOf(join(parentPath, name))).map((marker) => `${marker} in ${name}`)
    )

/** A segment of the log may be dropped after it was listed: then it holds nothing. */
const bytesOf = (path: string): Buffer => {
  try {
    return readFileSync(path)
  } catch (cause) {
    if (existsSync(path)) throw cause
    return Buffer.alloc(0)
  }
}

/** -> what is left after the patience of a test. */
const untilErased = async (dataDirectory: string, ledger: Ledger): Promise<ReadonlyArray<string>> => {
  const deadline = Date.now() + patienceMillis
  for (;;) {
    const left = erasedWordsIn(dataDirectory, ledger)
    if (left.length === 0 || Date.now() > deadline) return left
    await new Promise((wake) => setTimeout(wake, 1_000))
  }
}

const untilAnswers = (wanted: number) => {
  let left = wanted
  const { promise, resolve } = Promise.withResolvers<void>()
  if (left === 0) resolve()
  const count = (): void => {
    if (--left === 0) resolve()
  }
  return { reached: promise, count }
}

/** One writer after the other request, until the server is gone. */
const write = async (
  server: TestServer,
  ledger: Ledger,
  writer: string,
  agent: string,
  isOver: { readonly now: boolean },
  onAnswer: () => void
): Promise<void> => {
  while (!isOver.now) {
    const operation = ledger.next(writer, agent)
    const isAnswered = await send(server, ledger, operation)
    if (!isAnswered) return
    onAnswer()
  }
}

/** False when the connection broke: the operation stays open in the ledger. */
const send = async (server: TestServer, ledger: Ledger, operation: Operation): Promise<boolean> => {
  const answer = await server
    .call(operation.method, operation.path, {
      ...(operation.body !== undefined && { body: operation.body }),
      headers: { "idempotency-key": operation.key }
    })
    .catch(() => undefined)
  if (answer === undefined) return false
  ledger.answered(operation, answer)
  return true
}

const retry = async (server: TestServer, ledger: Ledger): Promise<void> => {
  await ledger.lookBeforeRetry(server)
  // At once, as those who wait for a service that is away do. Each writer has one, of memories of its own.
  const areAnswered = await Promise.all(ledger.open().map((operation) => send(server, ledger, operation)))
  if (areAnswered.includes(false)) throw new Error("the restarted server does not answer")
}

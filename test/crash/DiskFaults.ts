/**
 * Faults of the disk, armed one at a time at a random call on the log, its spare segment, the files or control.db,
 * while agents write. What fails is sent again with its key until it succeeds; what was answered must be there once.
 */
import { makeFaultyDisk, type DiskFault } from "../support/FaultyDisk.ts"
import { fact } from "../support/MemoryCalls.ts"
import type { SeededRandom } from "../support/SeededRandom.ts"
import { patienceMillis, startServer, type Answer, type TestServer } from "../support/TestServer.ts"

const agents = ["ann", "bob", "cy", "dee"]
/** Requests of each agent around one fault. */
const callsPerAgent = 3

const places = [
  { operation: "write", path: "/log/0" },
  { operation: "sync", path: "/log/0" },
  { operation: "write", path: "/log/spare" },
  { operation: "sync", path: "/log/spare" },
  { operation: "write", path: "/namespaces/" },
  { operation: "sync", path: "/namespaces/" },
  { operation: "write", path: "control.db" },
  { operation: "sync", path: "control.db" }
] as const satisfies ReadonlyArray<Pick<DiskFault, "operation" | "path">>

export interface FaultReport {
  armed: number
  fired: number
  /** Answers other than 200, by status and code. */
  readonly refused: Record<string, number>
  /** What broke a promise. */
  readonly faults: Array<string>
}

/** `onFault` hears how many have fired; whether a promise was broken is known at the end. */
export const runDiskFaults = async (
  count: number,
  random: SeededRandom,
  onFault?: (fired: number) => void
): Promise<FaultReport> => {
  const disk = makeFaultyDisk()
  const server = await startServer({ environment: { ...disk.environment, MUNIMENT_EMBEDDING_MODEL: "none" } })
  const report: FaultReport = { armed: 0, fired: 0, refused: {}, faults: [] }
  const stored = new Map<string, ReadonlyArray<string>>()
  try {
    while (report.fired < count && report.armed < 3 * count && report.faults.length === 0) {
      const place = random.pick(places)!
      const fault = place.operation === "sync" ? "EIO" : random.pick(["EIO", "ENOSPC", "short"] as const)!
      disk.arm({ ...place, fault, times: 1, after: random.between(0, 6) })
      report.armed++
      const round = report.armed
      await Promise.all(
        agents.map(async (agentId) => {
          for (let at = 0; at < callsPerAgent; at++) {
            const key = `${agentId}-${round}-${at}`
            stored.set(key, await untilStored(server, agentId, key, report))
          }
        })
      )
      if (!disk.isArmed()) {
        report.fired++
        onFault?.(report.fired)
      }
      disk.disarm()
    }
    report.faults.push(...(await brokenPromises(server, stored)))
    if ((await server.stop()) !== 0) report.faults.push(`the stop did not end with 0: ${server.output().slice(-2_000)}`)
    return report
  } finally {
    if (server.process.exitCode === null && server.process.signalCode === null) await server.kill()
    disk.remove()
  }
}

const create = (server: TestServer, agentId: string, key: string): Promise<Answer> =>
  server.call("POST", "/v1/memories", {
    headers: { "idempotency-key": key },
    body: { agentId, memories: [fact(key, `It is the memory of ${key}`)] }
  })

/** -> the ids that the answer says. */
const untilStored = async (server: TestServer, agentId: string, key: string, report: FaultReport) => {
  const deadline = Date.now() + patienceMillis
  for (;;) {
    const { body, headers, status } = await create(server, agentId, key)
    if (status === 200) return body.created.map(({ id }: { readonly id: string }) => id) as ReadonlyArray<string>
    const name = `${status} ${body.code}`
    report.refused[name] = (report.refused[name] ?? 0) + 1
    const isExpected = status === 507 || (status === 503 && headers.has("retry-after"))
    if (!isExpected || Date.now() > deadline) {
      report.faults.push(`${key} was answered ${name}: ${JSON.stringify(body)}`)
      return []
    }
    await new Promise((wake) => setTimeout(wake, 20))
  }
}

/** Every answered memory once and nothing else, no agent set aside, and books that agree. */
const brokenPromises = async (
  server: TestServer,
  stored: ReadonlyMap<string, ReadonlyArray<string>>
): Promise<ReadonlyArray<string>> => {
  const faults: Array<string> = []
  for (const agentId of agents) {
    const wanted = new Map([...stored].filter(([key]) => key.startsWith(`${agentId}-`)))
    const found = new Map<string, Array<string>>()
    for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
      const page = `/v1/memories?agentId=${agentId}&limit=100${cursor === undefined ? "" : `&cursor=${encodeURIComponent(cursor)}`}`
      const { body, status } = await server.call("GET", page)
      if (status !== 200) return [...faults, `the list of ${agentId}: ${status} ${JSON.stringify(body)}`]
      for (const { data, id } of body.memories) found.set(data.subject, [...(found.get(data.subject) ?? []), id])
      cursor = body.nextCursor ?? undefined
    }
    for (const [key, ids] of wanted)
      if (JSON.stringify(found.get(key)) !== JSON.stringify(ids))
        faults.push(`${key}: answered ${JSON.stringify(ids)}, found ${JSON.stringify(found.get(key))}`)
    for (const key of found.keys()) if (!wanted.has(key)) faults.push(`${key}: nobody asked for it`)
  }
  const status = await server.asOperator("GET", "/admin/status")
  for (const { file, reason } of status.body.quarantined) faults.push(`${file} is set aside: ${reason}`)
  const books = await server.asOperator("GET", "/admin/ledger/check")
  if (books.status !== 200 || books.body.ok !== true) faults.push(`the books: ${JSON.stringify(books.body)}`)
  return faults
}

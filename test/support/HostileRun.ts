/**
 * Sends made-up requests to a server and watches it: no 5xx but a 503 that says when to come again, nothing stored by
 * what was refused, the process alive, its event loop free.
 */
import fc from "fast-check"
import { evmAddresses, evmKeys } from "../../scripts/devchains/Wallets.ts"
import { type HostileFrame, hostileFrame, sendFrame } from "./HostileFrames.ts"
import { hostileRequest, type HostileRequest } from "./HostileRequests.ts"
import { blockedMillisMax, longestMillis, whileProbing, withoutBlocking } from "./LivenessProbe.ts"
import type { Wait } from "./LivenessProber.ts"
import { operatorKey, type TestServer } from "./TestServer.ts"

export interface HostileReport {
  readonly requests: number
  /** Number of answers by status. */
  readonly statuses: Readonly<Record<string, number>>
  /** Answers above 499, but for a 503 that says when to come again. */
  readonly failures: ReadonlyArray<string>
  /** Refused requests after which the account held something else than before. */
  readonly leftovers: ReadonlyArray<string>
  /** Requests that let `/health/live` wait for too long, and did so again when they were sent alone. */
  readonly blockers: ReadonlyArray<string>
  /** Wait of `/health/live` meanwhile, milliseconds. */
  readonly waitMillis: { readonly p99: number; readonly max: number }
}

/** Payments are demanded, and refused for now: no node answers. */
export const hostileEnvironment = {
  MUNIMENT_PAYMENT_NETWORKS: "base-sepolia",
  MUNIMENT_EVM_PAY_TO: evmAddresses.payTo,
  MUNIMENT_EVM_OPERATOR_KEY: evmKeys.operator,
  MUNIMENT_EVM_RPC_URL: "http://127.0.0.1:9"
} as const

/** So that what is stored stays small, whatever the run's length. */
const requestsBetweenCleanups = 500
const requestsMadeAtOnce = 25
/** After so many it is looked which of them blocked the server. */
const requestsInPart = 5_000

/** `onPart` gets what was seen so far: a run that is cut off says it too. */
export const runHostileRequests = async (
  server: TestServer,
  count: number,
  seed: number,
  onPart: (report: HostileReport) => void = () => undefined
): Promise<HostileReport> => {
  const known = await knownStrings(server)
  const arbitrary = fc.oneof(
    { weight: 3, arbitrary: hostileRequest(known) },
    { weight: 1, arbitrary: hostileFrame(known) }
  )
  // A few at a time: making all of them at once would let the connections to the server grow stale.
  const requests = function* (from: number, until: number) {
    for (let at = from; at < until; at += requestsMadeAtOnce) {
      yield* fc.sample(arbitrary, { numRuns: Math.min(requestsMadeAtOnce, until - at), seed: seed + at })
    }
  }
  const seen: Seen = { statuses: {}, failures: [], leftovers: [], blockers: [] }
  const waits: Array<Wait> = []
  for (let from = 0; ; from += requestsInPart) {
    const until = Math.min(from + requestsInPart, count)
    for (const wait of await sendPart(server, requests(from, until), seen)) waits.push(wait)
    const sorted = waits.map(({ millis }) => millis).toSorted((left, right) => left - right)
    const waitMillis = { p99: sorted[Math.floor(sorted.length * 0.99)] ?? 0, max: longestMillis(waits) }
    const report: HostileReport = { requests: until, ...seen, waitMillis }
    if (until === count) return report
    onPart(report)
  }
}

interface Seen {
  readonly statuses: Record<string, number>
  readonly failures: Array<string>
  readonly leftovers: Array<string>
  readonly blockers: Array<string>
}

/** The waits meanwhile; the rest is added to `seen`. */
const sendPart = async (server: TestServer, requests: Iterable<Hostile>, seen: Seen): Promise<ReadonlyArray<Wait>> => {
  const { blockers, failures, leftovers, statuses } = seen
  const sent: Array<{ readonly request: Hostile; readonly fromMillis: number; readonly toMillis: number }> = []
  const { waits } = await whileProbing(server, async () => {
    let before = await holdings(server)
    let at = 0
    for (const request of requests) {
      const fromMillis = nowMillis()
      const answers = await send(server, request)
      sent.push({ request, fromMillis, toMillis: nowMillis() })
      for (const { isFailure, status } of answers) {
        statuses[status] = (statuses[status] ?? 0) + 1
        if (isFailure) failures.push(`${textOf(request)} -> ${status}`)
      }
      if (++at % requestsBetweenCleanups === 0) before = await cleanUp(server)
      if (isRead(request) || at % requestsBetweenCleanups === 0) continue
      const after = await holdings(server)
      const isRefused = answers.every(({ status }) => status >= 400)
      const isChanged = after.text !== before.text || after.bytes > before.bytes
      if (isRefused && before.isSettled && isChanged)
        leftovers.push(`${textOf(request)} -> ${answers[0]?.status}: ${changeOf(before.text, after.text)}`)
      before = after
    }
  })
  const slow = waits.filter(({ millis }) => millis >= blockedMillisMax)
  const suspects = sent.filter(({ fromMillis, toMillis }) =>
    slow.some(({ atMillis, millis }) => fromMillis < atMillis + millis && toMillis > atMillis)
  )
  for (const { request } of suspects) {
    await withoutBlocking(server, () => send(server, request)).catch((error: unknown) =>
      blockers.push(`${textOf(request)}: ${String(error)}`)
    )
  }
  return waits
}

/** On the clock that all threads share. */
const nowMillis = (): number => performance.timeOrigin + performance.now()

/** With what was found, if anything was. */
export const hostileSummary = (
  seed: number,
  { requests, statuses, failures, leftovers, blockers, waitMillis }: HostileReport
) =>
  [
    `hostile requests: seed ${seed}, ${requests} requests, answers ${JSON.stringify(statuses)}, ` +
      `${failures.length} failures, ${leftovers.length} leftovers, ${blockers.length} blockers, live p99 ${waitMillis.p99.toFixed(1)} ms, ` +
      `max ${waitMillis.max.toFixed(1)} ms`,
    ...failures,
    ...leftovers,
    ...blockers
  ].join("\n")

/**
 * One memory, one schema and what leads to them, so that requests meet something. An account that operators' requests
 * may suspend and erase: with their token they could do so to the one that sends them.
 */
const knownStrings = async (server: TestServer): Promise<ReadonlyArray<string>> => {
  await server.newAccount("somebody")
  const schema = JSON.stringify({ type: "object", properties: { key: { type: "string" } }, required: ["key"] })
  const registered = { name: "note", description: "d", uniqueOn: ["key"], schema }
  await server.call("POST", "/v1/schemas", { body: registered })
  const fact = { kind: "factual_memory", data: { subject: "s", fact: "f" } }
  const memories = [fact, fact, { kind: "note", data: { key: "k" } }]
  const { body } = await server.call("POST", "/v1/memories", { body: { agentId: "agent", memories } })
  const ids: ReadonlyArray<string> = body.created.map(({ id }: { readonly id: string }) => id)
  const page = await server.call("GET", "/v1/memories?limit=1")
  const spare = await server.call("POST", "/v1/keys", { body: { label: "spare" } })
  const words = [
    "agent",
    "other agent",
    "note",
    "factual_memory",
    "temporal_event",
    "somebody",
    "subject",
    "fact",
    "key"
  ]
  const positions = [
    { at: 1, id: 1 },
    { before: 2 },
    { namespace: "000000000000", afterSeq: 0 },
    { at: -1, id: 2 ** 60 }
  ]
  const cursors = positions.map((position) => Buffer.from(JSON.stringify(position)).toString("base64url"))
  const backups = ["20261122T220000123Z-5f3a", "20269999T999999999Z-0000", "control.db", "namespaces/../control.db"]
  const money = ["pay_01KAJ8Q0V7E5XK9D2M4N6P8R0T", "0.10", "2026-02-29", "0000-01-01", "9999-12-31"]
  const names = [...ids, ...words, spare.body.key.id, schema, "1h", "7d"]
  return [...names, page.body.nextCursor, ...cursors, ...backups, ...money, "2026-01-01"]
}

type Hostile = HostileRequest | HostileFrame

interface Verdict {
  readonly status: number
  readonly isFailure: boolean
}

const verdictOf = (status: number, hasRetryAfter: boolean): Verdict => ({
  status,
  isFailure: status >= 500 && !(status === 503 && hasRetryAfter)
})

const isRead = (request: Hostile): boolean =>
  "bytes" in request ? request.bytes.subarray(0, 4).equals(readStart) : request.route.method === "GET"
const readStart = Buffer.from("GET ")

/** None if the connection was closed without an answer. */
const send = async (server: TestServer, request: Hostile): Promise<ReadonlyArray<Verdict>> => {
  if ("bytes" in request) {
    const answers = await sendFrame(server.url, request)
    return answers.map((text) => verdictOf(Number(text.slice(9, 12)), /\r\nretry-after: \d/i.test(text)))
  }
  const { credentials, headers, path, rawBody, route } = request
  const right = route.isOperators ? server.operatorToken : operatorKey
  const { headers: got, status } = await server.call(route.method, path, {
    // fetch refuses to send a body with GET.
    ...(rawBody !== undefined && route.method !== "GET" && { rawBody }),
    headers,
    key: credentials === "right" ? right : credentials === "none" ? null : "mun_wrong_key_0123456789abcdef0123456789"
  })
  return [verdictOf(status, got.has("retry-after"))]
}

interface Holdings {
  /** Agents, schemas, the newest memories whole. */
  readonly text: string
  /** Of memories, expired ones too until they are swept in the background: less is no trace of a request. */
  readonly bytes: number
  /** No conversation awaits its reading, whose memories come without a further request. */
  readonly isSettled: boolean
}

/** What the account holds. */
const holdings = async (server: TestServer): Promise<Holdings> => {
  const status = await server.asOperator("GET", "/admin/status")
  const isSettled = status.body.extraction.pending === 0
  const paths = ["/v1/account", "/v1/schemas", "/v1/memories?limit=100&includeSuperseded=true"]
  const answers = await Promise.all(paths.map((path) => server.call("GET", path)))
  for (const { status, body } of answers) {
    if (status !== 200) throw new Error(`the account cannot be read any more: ${status} ${JSON.stringify(body)}`)
  }
  const [account, ...others] = answers.map(({ body }) => body)
  const isBytes = ({ name }: { readonly name: string }) => name === "bytes"
  // Calls that run at the moment are no trace of an earlier one: these reads are counted themselves.
  const quotas = account.quotas.filter(
    (quota: { readonly name: string }) => !isBytes(quota) && quota.name !== "openRequests"
  )
  const text = JSON.stringify([{ ...account, quotas }, ...others])
  return { text, bytes: account.quotas.find(isBytes).used, isSettled }
}

/** The text around the first difference, as it was and as it is. */
const changeOf = (before: string, after: string): string => {
  const at = [...before].findIndex((letter, index) => letter !== after[index])
  const from = Math.max(0, (at === -1 ? before.length : at) - 100)
  return [before, after].map((text) => text.slice(from, from + 300)).join(" => ")
}

const cleanUp = async (server: TestServer): Promise<Holdings> => {
  const { body } = await server.call("GET", "/v1/account")
  for (const { agentId } of body.agents) {
    if (agentId === "agent") continue
    await server.call("POST", "/v1/memories/batch/delete", { body: { filters: { agentId } } })
  }
  return holdings(server)
}

const textOf = (request: Hostile): string => {
  if ("bytes" in request) return request.bytes.toString("latin1").slice(0, 1_000)
  const { headers, path, rawBody, route } = request
  const body = typeof rawBody === "string" ? rawBody : rawBody === undefined ? "" : `bytes ${rawBody.join(" ")}`
  return `${route.method} ${path} ${JSON.stringify(headers)} ${body.slice(0, 600)}`
}

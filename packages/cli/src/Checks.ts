/**
 * Findings of `doctor` from the state that the service reports: one line for each possible fault, with the remedy. Pure,
 * so that every finding can be tested.
 */
import type { ServiceStatus } from "@muniment/domain/api/AdminApi"
import { timeText } from "./Terminal.ts"

type Verdict = "ok" | "warn" | "fail"

export interface Check {
  readonly name: string
  readonly verdict: Verdict
  readonly detail: string
  /** Advice; absent if the check passed. */
  readonly remedy?: string
}

const gibibyte = 2 ** 30
const freeBytesWarn = gibibyte
const freeBytesFail = gibibyte / 10

export const statusChecks = (status: ServiceStatus): ReadonlyArray<Check> => [
  serviceCheck(status),
  modelCheck(status.embedding),
  vectorsCheck(status.embedding),
  readerCheck(status.extraction),
  conversationsCheck(status.extraction),
  indexCheck(status.index),
  storeCheck(status),
  ...paymentChecks(status.payments),
  ...webhookChecks(status.webhooks),
  ...hookChecks(status.hooks),
  clockCheck(status),
  logCheck(status.commitLog),
  controlCheck(status.control),
  diskCheck(status.disk),
  backupCheck(status.backup),
  scrubCheck(status.scrub),
  roundsCheck(status.rounds),
  ...configurationChecks(status.warnings)
]

const serviceCheck = ({ ready, version, node, dataDirectory }: ServiceStatus): Check => {
  const detail = `${version} on Node ${node}, data in ${dataDirectory}`
  return ready
    ? { name: "service", verdict: "ok", detail }
    : { name: "service", verdict: "fail", detail: `not ready; ${detail}`, remedy: "read the service's log" }
}

/** Longer than any payment of a stock client lives: its authorisation has ended a while ago. */
const openSecondsWarn = 600

/** None where no payments are taken. */
const paymentChecks = ({ networks, oldestOpenSeconds }: ServiceStatus["payments"]): ReadonlyArray<Check> => {
  if (networks.length === 0) return []
  const waiting: Check =
    oldestOpenSeconds < openSecondsWarn
      ? { name: "payments", verdict: "ok", detail: "none waits for long" }
      : {
          name: "payments",
          verdict: "warn",
          detail: `the oldest payment has had no outcome for ${oldestOpenSeconds} s`,
          remedy: 'look at "muniment payments list --state broadcasting"'
        }
  return [waiting, ...networks.map(networkCheck)]
}

type Network = ServiceStatus["payments"]["networks"][number]

const refusals: Readonly<Record<Network["problems"][number]["question"], string>> = {
  verify: "do not check payments",
  sign: "do not say what a transaction needs",
  broadcast: "do not take transactions",
  look: "do not say what became of transactions"
}

const networkCheck = (status: Network): Check => {
  const { booksUsd, feeBalance, isOffered, isReachable, network, nodes, payeeUsd, problems } = status
  const name = `payments on ${network}`
  if (!isReachable) {
    const remedy = `look at the node of MUNIMENT_${network.startsWith("base") ? "EVM" : "SOLANA"}_RPC_URL`
    return { name, verdict: "fail", detail: "the node does not answer", remedy }
  }
  if (!isOffered) {
    const detail = `not offered: the operator's wallet has ${feeBalance ?? 0} for fees`
    return { name, verdict: "fail", detail, remedy: "send coins for fees to the operator's wallet" }
  }
  const [problem] = problems
  if (problem !== undefined) {
    const detail = `its nodes ${refusals[problem.question]} since ${timeText(problem.since)}: ${problem.cause}`
    return { name, verdict: "warn", detail, remedy: "payments wait and go on by themselves once they do" }
  }
  const poor = nodes.filter((node) => !node.isReachable || node.isBehind)
  if (poor.length > 0) {
    const told = poor.map(
      (node) => `${node.name} ${node.isReachable ? `is ${node.blocksBehind} blocks behind` : "does not answer"}`
    )
    return { name, verdict: "warn", detail: told.join("; "), remedy: "payments go on over the other nodes" }
  }
  const held = payeeUsd === null ? "" : `; the books have received ${booksUsd} USD, the payee holds ${payeeUsd}`
  return { name, verdict: "ok", detail: `offered${held}` }
}

/** A receiver that is mended within the hour is no news. */
const webhookSecondsWarn = 3_600

/** None where there is no webhook and never was. */
const webhookChecks = ({
  failed,
  isConfigured,
  oldestSeconds,
  pending
}: ServiceStatus["webhooks"]): ReadonlyArray<Check> => {
  const name = "webhooks"
  if (failed > 0) {
    const remedy = 'mend the receiver, then "npm run muniment -- webhooks resend --failed"'
    return [{ name, verdict: "fail", detail: `${failed} messages were given up`, remedy }]
  }
  if (!isConfigured && pending > 0) {
    const remedy = "set MUNIMENT_WEBHOOK_URL and MUNIMENT_WEBHOOK_SECRET again"
    return [{ name, verdict: "warn", detail: `${pending} messages wait, and there is no webhook any more`, remedy }]
  }
  if (oldestSeconds >= webhookSecondsWarn) {
    const remedy =
      'look at the receiver: "npm run muniment -- webhooks test", "npm run muniment -- webhooks list --state pending"'
    return [{ name, verdict: "warn", detail: `${pending} messages wait, the oldest for ${oldestSeconds} s`, remedy }]
  }
  return isConfigured ? [{ name, verdict: "ok", detail: "none waits for long" }] : []
}

/** Accounts mend their own receivers; the operator sees that something waits. None where no account has one. */
const hookChecks = ({
  active,
  failed,
  oldestSeconds,
  paused,
  pending
}: ServiceStatus["hooks"]): ReadonlyArray<Check> => {
  const name = "account webhooks"
  if (active + paused === 0) return []
  const detail = `${active} active, ${paused} paused; ${pending} messages wait, ${failed} were given up`
  const remedy =
    'their accounts see why in GET /v1/webhooks or "npm run muniment -- webhooks own list", and repeat what was given up'
  return failed > 0 || oldestSeconds >= webhookSecondsWarn
    ? [{ name, verdict: "warn", detail, remedy }]
    : [{ name, verdict: "ok", detail }]
}

const clockCheck = ({ clockStep }: ServiceStatus): Check =>
  clockStep === null
    ? { name: "clock", verdict: "ok", detail: "the daily job runs by it" }
    : {
        name: "clock",
        verdict: "warn",
        detail: `it stepped from ${timeText(clockStep.seenAt)} to ${timeText(clockStep.now)} UTC; the daily job waits`,
        remedy: 'if the clock is right, as after a long switch-off: "npm run muniment -- jobs run --accept-clock"'
      }

const modelCheck = ({ model, ready, detail }: ServiceStatus["embedding"]): Check =>
  ready
    ? { name: "model", verdict: "ok", detail: model === null ? detail : `${model}: ${detail}` }
    : {
        name: "model",
        verdict: "warn",
        detail: `search finds words, not meanings: ${detail}`,
        remedy: 'run "npm run setup" with a network; the service takes the model up by itself'
      }

const vectorsCheck = ({ pending, ready }: ServiceStatus["embedding"]): Check => {
  if (pending === 0) return { name: "vectors", verdict: "ok", detail: "every memory has its vector" }
  const detail = `${pending} memories wait for their vector and are found by words until then`
  return ready
    ? { name: "vectors", verdict: "ok", detail: `${detail}; "npm run muniment -- reembed" shows how far it is` }
    : { name: "vectors", verdict: "warn", detail, remedy: "they follow as soon as there is a model" }
}

const readerCheck = ({ problem, reader }: ServiceStatus["extraction"]): Check => {
  const name = "language model"
  return problem === null
    ? { name, verdict: "ok", detail: reader === "rules" ? "none is configured; rules read" : reader }
    : { name, verdict: "warn", detail: `${reader}: ${problem.message}`, remedy: problem.remedy }
}

const conversationsCheck = ({ oldestSeconds, pending, reader }: ServiceStatus["extraction"]): Check =>
  pending === 0
    ? { name: "conversations", verdict: "ok", detail: "every conversation is read" }
    : {
        name: "conversations",
        verdict: "warn",
        detail: `${pending} conversations are stored and wait for ${reader} to read them, the oldest for ${oldestSeconds} s`,
        remedy: "they are tried again by themselves; the service's log says why they wait"
      }

const indexCheck = ({ engine, isAvailable, detail }: ServiceStatus["index"]): Check =>
  isAvailable
    ? { name: "index", verdict: "ok", detail: `${engine}: ${detail}` }
    : {
        name: "index",
        verdict: "warn",
        detail: `the engine ${engine} is set, but hnswlib-node is missing; slower for large agents. ${detail}`,
        remedy: 'leave MUNIMENT_INDEX out, or install g++, make and Python 3, delete node_modules, run "npm run setup"'
      }

const storeCheck = ({ namespaces, quarantined }: ServiceStatus): Check =>
  quarantined.length === 0
    ? { name: "store", verdict: "ok", detail: `${namespaces.total} namespaces, ${namespaces.open} open` }
    : {
        name: "store",
        verdict: "fail",
        detail: quarantined.map(({ file, reason }) => `${file}: ${reason}`).join("; "),
        remedy: "these files were put aside because they are damaged; restore them from a backup or an export"
      }

const logCheck = (log: ServiceStatus["commitLog"]): Check => {
  if (log === null) return { name: "commit log", verdict: "ok", detail: "in PostgreSQL, shared by all nodes" }
  const detail = `${log.segments} segments, records ${log.firstOrdinal} to ${log.lastOrdinal}`
  if (log.damage.length > 0) {
    const remedy = "agents whose files lack these records are set aside: restore them from a backup"
    return { name: "commit log", verdict: "warn", detail: `${detail}; ${log.damage.join("; ")}`, remedy }
  }
  if (log.isFull) {
    return { name: "commit log", verdict: "fail", detail: `${detail}; no room for another`, remedy: "make room" }
  }
  return log.isCurrent
    ? { name: "commit log", verdict: "ok", detail }
    : { name: "commit log", verdict: "warn", detail, remedy: "a disk error has ended it; see the service's log" }
}

/** More than what comes between two syncs of the log. */
const controlBehindWarn = 1_000

const controlCheck = ({ behind, checkedSeconds }: ServiceStatus["control"]): Check => {
  const checked =
    checkedSeconds === null ? "not checked yet" : `last checked ${(checkedSeconds / 3_600).toFixed(1)} h ago`
  const detail = `the commit log is ${behind} changes behind; ${checked}`
  if (behind < controlBehindWarn) return { name: "control.db", verdict: "ok", detail }
  return { name: "control.db", verdict: "warn", detail, remedy: "the commit log takes none; see the service's log" }
}

const diskCheck = ({ freeBytes }: ServiceStatus["disk"]): Check => {
  const detail = `${(freeBytes / gibibyte).toFixed(1)} GiB free`
  if (freeBytes >= freeBytesWarn) return { name: "disk", verdict: "ok", detail }
  const verdict = freeBytes >= freeBytesFail ? "warn" : "fail"
  return { name: "disk", verdict, detail, remedy: "make room: with a full disk writes are refused" }
}

/** Older than a daily backup that failed once. */
const backupSecondsWarn = 2 * 86_400

const backupCheck = ({ ageSeconds }: ServiceStatus["backup"]): Check => {
  if (ageSeconds !== null && ageSeconds < backupSecondsWarn) {
    return { name: "backup", verdict: "ok", detail: `the last one is ${(ageSeconds / 3_600).toFixed(1)} h old` }
  }
  const detail = ageSeconds === null ? "none is known" : `the last one is ${Math.floor(ageSeconds / 86_400)} days old`
  return {
    name: "backup",
    verdict: "warn",
    detail,
    remedy: 'make one every day: "npm run muniment -- backup create --help"'
  }
}

const scrubCheck = ({ ageSeconds, damaged, files, isRunning }: ServiceStatus["scrub"]): Check => {
  const broken = damaged.filter(({ isMended }) => !isMended)
  if (broken.length > 0) {
    const detail = broken.map(({ file, reason }) => `${file}: ${reason}`).join("; ")
    const remedy = broken.every(({ file }) => file === "control.db")
      ? "restart the service, which makes control.db again from its base and the commit log; if it is named again, restore it from a backup"
      : "restore these files from a backup"
    return { name: "scrubber", verdict: "fail", detail, remedy }
  }
  const last =
    ageSeconds === null ? "no round has ended yet" : `the last round ended ${(ageSeconds / 86_400).toFixed(1)} days ago`
  const mended = damaged.length === 0 ? "" : `, ${damaged.length} mended`
  return {
    name: "scrubber",
    verdict: "ok",
    detail: `${last}; ${files} files read${mended}${isRunning ? ", reading" : ""}`
  }
}

const roundsCheck = (rounds: ServiceStatus["rounds"]): Check => {
  const failing = rounds.filter(({ isFailing }) => isFailing)
  const failures = rounds.reduce((sum, round) => sum + round.failures, 0)
  if (failing.length === 0)
    return {
      name: "background work",
      verdict: "ok",
      detail: `${rounds.length} kinds, ${failures} failures since the start`
    }
  return {
    name: "background work",
    verdict: "warn",
    detail: failing.map(({ lastFailure, name }) => `${name}: ${lastFailure?.reason ?? "failed"}`).join("; "),
    remedy: "it is tried again by itself; if it stays, read the service's log"
  }
}

const configurationChecks = (warnings: ReadonlyArray<string>): ReadonlyArray<Check> =>
  warnings.length === 0
    ? [{ name: "configuration", verdict: "ok", detail: "nothing to report" }]
    : warnings.map((detail) => ({
        name: "configuration",
        verdict: "warn",
        detail,
        remedy: "see Operations in the handbook, /docs/handbook/operations"
      }))

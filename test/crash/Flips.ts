/**
 * Flipped bits in the files of a directory as a kill leaves it: after a restart and a scrub, an agent has every row
 * that it had, or is set aside and named. Nothing else is allowed: that is silent damage.
 */
import { Effect, Layer, Schedule } from "effect"
import { cpSync, globSync, rmSync, statSync } from "node:fs"
import { join } from "node:path"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { fileLogLayer } from "@muniment/engine/log/RunningLog"
import { scanLog } from "@muniment/engine/log/LogScan"
import { logFolder } from "@muniment/engine/log/segmentFiles"
import { logFirstStore } from "@muniment/engine/store/logged/LogFirstStore"
import { exactOnly, namespaceKey } from "../support/EngineFixtures.ts"
import { type HistoryKind, RandomHistory, rowsOfFile } from "../support/RandomHistory.ts"
import type { SeededRandom } from "../support/SeededRandom.ts"
import { flipOne } from "./flipOne.ts"

/** The log has all of those that only insert. Of the others it is erased: what their files lost cannot be made again. */
const agents = [
  { key: namespaceKey("inserts"), does: "inserts" },
  { key: namespaceKey("removes"), does: "removes" },
  { key: namespaceKey("erased"), does: "removes" },
  { key: namespaceKey("behind"), does: "inserts" }
] as const

function filesOf(kind: HistoryKind): ReadonlyArray<string> {
  return agents.filter(({ does }) => does === kind).map(({ key }) => `namespaces/${key.tag}.db`)
}

type Rows = ReadonlyMap<string, ReadonlyArray<string>>

export interface FlippedDirectory {
  /** As a kill left it: segments of the log, files, files with a log of SQLite's, and one file behind the commit log. */
  readonly directory: string
  /** What each agent has after a restart without a flip, by tag. */
  readonly rows: ReadonlyMap<string, Rows>
}

const engine = (directory: string) =>
  NamespaceHost.layer({ dataDirectory: directory, index: exactOnly }).pipe(
    Layer.provideMerge(logFirstStore(directory)),
    Layer.provide(fileLogLayer({ directory: join(directory, logFolder), segmentBytes: 131_072 })),
    Layer.fresh
  )

/** `work`: a folder for the directories. */
export const directoryToFlip = Effect.fnUntraced(function* (work: string, random: SeededRandom) {
  const [running, directory, unharmed] = ["running", "killed", "unharmed"].map((name) => join(work, name))
  const histories = agents.map(({ does, key }) => new RandomHistory(key, random, does))
  const [, , erased, behind] = histories
  yield* Effect.gen(function* () {
    for (const history of histories) yield* history.run(20)
  }).pipe(Effect.provide(engine(running!)))
  yield* Effect.gen(function* () {
    const host = yield* NamespaceHost
    for (const history of histories) yield* history.run(10)
    yield* host.settleAll
    yield* host.maintain
    for (const history of histories.filter((one) => one !== erased)) yield* history.run(5)
    yield* host.settleAll
    yield* behind!.run(6)
    yield* marked(running!)
    cpSync(running!, directory!, { recursive: true })
  }).pipe(Effect.provide(engine(running!)))
  cpSync(directory!, unharmed!, { recursive: true })
  const { setAside } = yield* restart(unharmed!)
  return { directory: directory!, rows: rowsIn(unharmed!), setAside }
})

/** A mark ends the log: before it, a flip in the last group looks like the tail of a power cut (format page). */
const marked = (directory: string): Effect.Effect<void> =>
  Effect.sync(() => scanLog(join(directory, logFolder)).unlisted.listed.changes <= 1).pipe(
    Effect.repeat({ until: (isMarked) => isMarked, schedule: Schedule.spaced(10) }),
    Effect.asVoid
  )

/** Opens the directory, checks every agent as a scrub does, and closes it; -> tags that are set aside. */
const restart = (directory: string) =>
  Effect.gen(function* () {
    const host = yield* NamespaceHost
    const unreadable: Array<string> = []
    for (const { key } of agents) {
      // A first use, as of a caller; what it finds is told by what is set aside.
      yield* Effect.ignore(host.answer(key, { _tag: "Counts" }))
      const checked = yield* Effect.result(host.check(key, () => Effect.void))
      // SQLite takes some damage for an error of the disk: the agent answers 503, and every check says so.
      if (checked._tag === "Failure") unreadable.push(key.tag)
    }
    const { log, quarantined } = yield* host.status
    const setAside = quarantined.map(({ file }) => file.slice("namespaces/".length, -".db".length))
    return { setAside: [...new Set([...setAside, ...unreadable])], log }
  }).pipe(Effect.provide(engine(directory)))

const rowsIn = (directory: string): ReadonlyMap<string, Rows> =>
  new Map(agents.map(({ key }) => [key.tag, rowsOfFile(join(directory, "namespaces", `${key.tag}.db`))]))

export interface FlipReport {
  flips: number
  /** Those after which all agents had all rows, some of them in files that were made again. */
  harmless: number
  /** Agents that were set aside. */
  named: number
  silent: Array<string>
}

/** One in each copy of the directory. */
export const runFlips = Effect.fnUntraced(function* (
  work: string,
  { directory, rows }: FlippedDirectory,
  flips: number,
  random: SeededRandom,
  kinds = kindsOfFiles(directory)
) {
  const report: FlipReport = { flips: 0, harmless: 0, named: 0, silent: [] }
  const flipped = join(work, "flipped")
  while (report.flips < flips) {
    rmSync(flipped, { recursive: true, force: true })
    cpSync(directory, flipped, { recursive: true })
    const told = flipOne(flipped, random.pick(kinds)!, random)
    report.flips++
    const { setAside } = yield* restart(flipped)
    report.named += setAside.length
    const different = agents.filter(({ key }) => !setAside.includes(key.tag) && !isSame(flipped, key.tag, rows))
    if (different.length > 0) report.silent.push(`${told}: ${different.map(({ key }) => key.agentId).join(", ")}`)
    else if (setAside.length === 0) report.harmless++
  }
  return report
})

/** The same for who has another copy of Effect than this module: its bundle is run so. */
export const prepareFlips = (work: string, random: SeededRandom) => Effect.runPromise(directoryToFlip(work, random))
export const flip = (...options: Parameters<typeof runFlips>) => Effect.runPromise(runFlips(...options))

export interface BundledFlips {
  readonly erasedFiles: ReadonlyArray<string>
  readonly flip: typeof flip
  readonly prepareFlips: typeof prepareFlips
}

const isSame = (directory: string, tag: string, rows: ReadonlyMap<string, Rows>): boolean =>
  JSON.stringify([...rowsOfFile(join(directory, "namespaces", `${tag}.db`))]) === JSON.stringify([...rows.get(tag)!])

/** Files of namespaces whose records are erased from the log. */
export const erasedFiles: ReadonlyArray<string> = filesOf("removes")

/** Segments of the log, files that the log has all of, those that it has not, and logs of SQLite's; without empty ones. */
const kindsOfFiles = (directory: string): ReadonlyArray<ReadonlyArray<string>> => {
  const found = (pattern: string) => globSync(pattern, { cwd: directory }).toSorted()
  return [found(`${logFolder}/[0-9]*.log`), filesOf("inserts"), erasedFiles, found("namespaces/*.db-wal")].map(
    (files) => files.filter((name) => statSync(join(directory, name)).size > 0)
  )
}

/**
 * Flipped bits in two backups: in the header, in manifests, in objects of files, in objects of the archived log. `backup
 * verify` of a backup that needs the byte must refuse it with a sentence, each time.
 */
import { cpSync, globSync, readFileSync } from "node:fs"
import { basename, join } from "node:path"
import { readManifest } from "@muniment/backup/BackupFormat"
import { partNamesOf } from "@muniment/backup/BackupStore"
import { done, environmentOf, fill, scratch } from "../support/BackupRun.ts"
import { runMuniment } from "../support/CliProcess.ts"
import type { SeededRandom } from "../support/SeededRandom.ts"
import { withoutModel } from "../support/SharedServer.ts"
import { startServer } from "../support/TestServer.ts"
import { flipOne } from "./flipOne.ts"

/** Two backups of agents that were written, some of it erased between them; -> their folder. */
export const backupsToFlip = async (): Promise<string> => {
  const server = await startServer({ environment: withoutModel })
  const to = scratch("flips")
  for (const agentId of ["a", "b", "c"]) await fill(server, agentId, ["narwhal", "quagga", `of ${agentId}`])
  await done(["backup", "create", "--to", to], environmentOf(server))
  const [id] = await fill(server, "a", ["erased", "later"])
  await server.call("DELETE", `/v1/memories/${id}`)
  const made = done(["backup", "create", "--to", to], environmentOf(server))
  // What is written while the files are copied is in the archived log.
  const ended = new AbortController()
  const writing = (async () => {
    for (let at = 0; !ended.signal.aborted; at++) await fill(server, "b", [`later ${at}`])
  })()
  await made.finally(() => ended.abort())
  await writing
  await server.stop()
  return to
}

export interface BackupFlipReport {
  /** How many flips were named, by kind of file. */
  readonly named: Record<string, number>
  readonly silent: Array<string>
}

export const flipBackups = async (backups: string, flips: number, random: SeededRandom): Promise<BackupFlipReport> => {
  const report: BackupFlipReport = { named: {}, silent: [] }
  const kinds = Object.entries(kindsOf(backups))
  for (let at = 0; at < flips; at++) {
    const flipped = scratch("flipped")
    cpSync(backups, flipped, { recursive: true })
    const [kind, files] = random.pick(kinds)!
    const told = flipOne(flipped, files, random)
    if (await isNamed(flipped)) report.named[kind] = (report.named[kind] ?? 0) + 1
    else report.silent.push(told)
  }
  return report
}

/** Whether the proof of one of the backups ends with a sentence. */
const isNamed = async (backups: string): Promise<boolean> => {
  for (const id of manifestsIn(backups)
    .map((name) => basename(name, ".json"))
    .toReversed()) {
    const { code, err } = await runMuniment(["backup", "verify", "--from", backups, "--backup", id])
    if (code === 1 && err.trim() !== "" && !/^\s+at /m.test(err)) return true
  }
  return false
}

const manifestsIn = (backups: string): ReadonlyArray<string> =>
  globSync("manifests/*.json", { cwd: backups }).toSorted()

const kindsOf = (backups: string): Readonly<Record<string, ReadonlyArray<string>>> => {
  const manifests = manifestsIn(backups)
  const read = manifests.map((name) => readManifest(name, readFileSync(join(backups, name))))
  return {
    header: ["muniment-backup.json"],
    manifests,
    files: read.flatMap((manifest) => manifest.files).flatMap(partNamesOf),
    log: read.flatMap(({ log: part }) => part?.segments ?? []).flatMap(partNamesOf)
  }
}

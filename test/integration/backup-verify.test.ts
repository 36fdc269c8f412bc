/** What `backup verify` proves beyond digests, and what a restore leaves in its directory (operations: Back up and restore). */
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync
} from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Effect } from "effect"
import { beforeAll, expect, it } from "vitest"
import { settleRestored } from "@muniment/server/operator/restoredDirectory"
import { done, environmentOf, fill, refused, scratch } from "../support/BackupRun.ts"
import { everyDay } from "../support/Repetitions.ts"
import { withoutModel } from "../support/SharedServer.ts"
import { startServer } from "../support/TestServer.ts"

/** A stopped service's directory. */
const directory = scratch("verify")
let file: string
beforeAll(async () => {
  const server = await startServer({ dataDirectory: directory, environment: withoutModel })
  await fill(server, "verified", ["Wolpertinger", "Basilisk"])
  await server.stop()
  file = `namespaces/${readdirSync(join(directory, "namespaces")).find((name) => name.endsWith(".db"))}`
})

/** A backup of the directory after a change that no digest shows. */
const backupAfter = async (change: (copy: string) => void): Promise<string> => {
  const dataDirectory = join(scratch("changed"), "data")
  cpSync(directory, dataDirectory, { recursive: true })
  change(dataDirectory)
  const to = scratch("backup")
  await done(["backup", "create", "--to", to], environmentOf({ dataDirectory }))
  return to
}

const change = (path: string, sql: string): void => {
  const database = new DatabaseSync(path)
  database.exec(sql)
  database.close()
}

it("verify checks the ledger that the restored service would have", async () => {
  const to = await backupAfter((copy) =>
    change(join(copy, "control.db"), "UPDATE ledger_account SET debits = debits + 1000000 WHERE debits > 0")
  )
  await refused(["backup", "verify", "--from", to], /control\.db: .*its transfers make/)
})

it("verify checks the content hash of every memory", async () => {
  const to = await backupAfter((copy) =>
    change(join(copy, file), "UPDATE memory SET data = replace(data, 'Basilisk', 'Basilosk')")
  )
  await refused(["backup", "verify", "--from", to], new RegExp(`${file}: `))
})

it("verify names the file of a bit that flipped in any object", async () => {
  const to = await backupAfter(() => {})
  await done(["backup", "verify", "--from", to])
  const objects = readdirSync(to, { recursive: true, encoding: "utf8" }).filter(
    (name) => !name.endsWith("operator-token") && statSync(join(to, name)).isFile()
  )
  expect(objects.length).toBeGreaterThanOrEqual(5)
  for (const [at, name] of everyDay(3, objects).entries()) {
    const path = join(to, name)
    const whole = readFileSync(path)
    const flipped = Buffer.from(whole)
    const place = ((at + 1) * 7919) % (whole.length - 1)
    flipped[place] = flipped[place]! ^ (1 << (at % 8))
    writeFileSync(path, flipped)
    const named = name.startsWith("objects/") ? name.split("/")[1]! : name
    await refused(["backup", "verify", "--from", to], named)
    writeFileSync(path, whole)
  }
}, 120_000)

it("a restore that was interrupted goes on, and fetches only what is missing or not whole", async () => {
  const to = await backupAfter(() => {})
  const restoredTo = join(scratch("resumed"), "data")
  await done(["restore", "--from", to, "--to", restoredTo])
  const [tag] = file.split("/")[1]!.split(".")
  const objects = join(to, "objects")
  const copy = join(objects, tag!)
  // As a kill leaves it: one file is there, one is half there, one is missing.
  rmSync(restoredTo, { recursive: true })
  mkdirSync(join(restoredTo, "namespaces"), { recursive: true })
  writeFileSync(join(restoredTo, "restore-unfinished"), "another\n")
  cpSync(partIn(copy), join(restoredTo, file))
  writeFileSync(join(restoredTo, `${file}-wal`), "left behind")
  writeFileSync(join(restoredTo, "control.db"), readFileSync(partIn(join(objects, "control.db"))).subarray(0, 5_000))
  renameSync(copy, `${copy}.aside`)
  await done(["restore", "--from", to, "--to", restoredTo])
  expect(existsSync(join(restoredTo, `${file}-wal`))).toBe(false)
  expect(existsSync(join(restoredTo, "restore-unfinished"))).toBe(false)
  const again = await startServer({ dataDirectory: restoredTo, environment: withoutModel })
  expect((await again.call("GET", "/v1/memories?agentId=verified")).body.memories).toHaveLength(2)
  await again.stop()
})

const partIn = (object: string): string => {
  const [id] = readdirSync(object)
  return join(object, id!, "000000")
}

it("a restored directory has no file of an agent that the moment does not have, and an empty log", async () => {
  const settled = join(scratch("settled"), "data")
  cpSync(directory, settled, { recursive: true })
  const left = join(settled, "namespaces/0123456789ab.db")
  cpSync(join(settled, file), left)
  expect(await Effect.runPromise(settleRestored(settled))).toEqual([])
  expect(existsSync(left)).toBe(false)
  const log = readdirSync(join(settled, "log")).map((name) => readFileSync(join(settled, "log", name)))
  expect(Buffer.concat(log).includes("Wolpertinger")).toBe(false)
  const again = await startServer({ dataDirectory: settled, environment: withoutModel })
  expect((await again.call("GET", "/v1/memories?agentId=verified")).body.memories).toHaveLength(2)
  const { body } = await again.asOperator("GET", "/admin/status")
  expect([body.commitLog.damage, body.quarantined]).toEqual([[], []])
  await again.stop()
})

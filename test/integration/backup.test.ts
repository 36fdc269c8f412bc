/**
 * Backups of a running service and of a stopped directory: what is restored is what was acknowledged, whole or not at
 * all, and nothing of what was erased before.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Option } from "effect"
import { describe, expect, it } from "vitest"
import { backupIdOf } from "@muniment/backup/BackupFormat"
import { BackupStore } from "@muniment/backup/BackupStore"
import { directoryTarget } from "@muniment/backup/target/openTarget"
import { done, environmentOf, fill, refused, restored, scratch, untilSettled } from "../support/BackupRun.ts"
import { startMuniment } from "../support/CliProcess.ts"
import { isLongRun } from "../support/Repetitions.ts"
import { filesWith } from "../support/filesWith.ts"
import { withoutModel } from "../support/SharedServer.ts"
import { patienceMillis } from "../support/TestServer.ts"
import { useServer } from "../support/useServer.ts"

const server = useServer({ environment: withoutModel })

const create = async (to: string, ...more: ReadonlyArray<string>) => {
  const { out } = await done(["backup", "create", "--to", to, "--json", ...more], environmentOf(server))
  return JSON.parse(out) as { readonly id: string; readonly files: number; readonly copiedFiles: number }
}

const untilTrue = async (condition: () => boolean): Promise<void> => {
  const deadline = Date.now() + patienceMillis
  while (!condition()) {
    if (Date.now() > deadline) throw new Error("it never came")
    await new Promise((wake) => setTimeout(wake, 5))
  }
}

const objectOf = (to: string): string => {
  const name = readdirSync(join(to, "objects"), { recursive: true, encoding: "utf8" }).find((each) =>
    /^[0-9a-f]{12}.*\d{6}$/.test(each)
  )
  return join(to, "objects", name!)
}
const flip = (path: string): void => {
  const bytes = readFileSync(path)
  const middle = bytes.length >> 1
  bytes[middle] = bytes[middle]! ^ 1
  writeFileSync(path, bytes)
}

describe("a backup that is complete", () => {
  it("brings back memories, keys, schemas and answers that were kept", async () => {
    const to = scratch("backup")
    const key = await server.newAccount("keeper", "pro")
    await server.call("POST", "/v1/schemas", {
      key,
      body: { name: "pet", description: "A pet", schema: '{"type":"object","properties":{"name":{"type":"string"}}}' }
    })
    const write = { agentId: "zoo", memories: [{ kind: "pet", data: { name: "Rex" } }] }
    const headers = { "idempotency-key": "first" }
    const made = await server.call("POST", "/v1/memories", { key, body: write, headers })
    expect(made.status, JSON.stringify(made.body)).toBe(200)
    const { id } = made.body.created[0]
    const published = await server.call("GET", "/.well-known/muniment-keys.json", { key: null })
    await create(to)

    const again = await restored(to)
    expect((await again.call("GET", `/v1/memories/${id}`, { key })).body.memory.data).toEqual({ name: "Rex" })
    expect((await again.call("POST", "/v1/memories", { key, body: write, headers })).body.created[0].id).toBe(id)
    expect((await again.call("GET", "/v1/memories?agentId=zoo", { key })).body.total).toBe(1)
    expect((await again.call("GET", "/.well-known/muniment-keys.json", { key: null })).body).toEqual(published.body)
    expect(again.operatorToken).toBe(server.operatorToken)
    const books = await again.asOperator("GET", "/admin/ledger/check")
    expect(books.body).toMatchObject({ ok: true, problems: [] })
    await again.stop()
  })

  it("has its age in the status, in doctor and in the metrics", async () => {
    await create(scratch("backup"))
    const { body } = await server.asOperator("GET", "/admin/status")
    expect(body.backup.ageSeconds).toBeLessThan(patienceMillis / 1_000)
    expect((await server.call("GET", "/metrics", { key: null })).body).toMatch(/^muniment_backup_age_seconds/m)
    const { out } = await done(["doctor"], environmentOf(server))
    expect(out).toMatch(/ok +backup +the last one is/)
  })

  it("does not copy again what has not changed", async () => {
    const to = scratch("backup")
    await fill(server, "still", ["still"])
    await untilSettled(server)
    const first = await create(to)
    await untilSettled(server)
    const before = readdirSync(join(to, "objects"), { recursive: true }).length
    await fill(server, "moving", ["moving"])
    const second = await create(to)
    expect(first.copiedFiles).toBe(first.files)
    // The agent that was written to, and control.db.
    expect(second.copiedFiles).toBeLessThanOrEqual(2)
    expect(second.files).toBeGreaterThanOrEqual(first.files)
    expect(readdirSync(join(to, "objects"), { recursive: true }).length).toBeGreaterThan(before)
    await done(["backup", "verify", "--from", to])
  })

  it("leaves no copies behind in the data directory", async () => {
    await create(scratch("backup"))
    const staging = join(server.dataDirectory, "staging")
    expect(existsSync(staging) ? readdirSync(staging) : []).toEqual([])
  })

  it("holds nothing of what was erased before it", async () => {
    const to = scratch("backup")
    const [id] = await fill(server, "secretive", ["xylophonist", "carpenter"])
    await create(to)
    expect(filesWith(to, "xylophonist")).not.toEqual([])
    expect((await server.call("DELETE", `/v1/memories/${id}`)).status).toBe(200)
    const later = scratch("backup")
    await create(later)
    expect(filesWith(later, "xylophonist")).toEqual([])
    expect(filesWith(later, "carpenter")).not.toEqual([])
    // The earlier one has it until it goes.
    await create(to)
    await done(["backup", "prune", "--from", to, "--keep", "1"])
    expect(filesWith(to, "xylophonist")).toEqual([])
    await done(["backup", "verify", "--from", to])
  })
})

if (isLongRun)
  describe("a backup while agents write", () => {
    it("has every write that was acknowledged before it, and of each agent one moment", async () => {
      const to = scratch("backup")
      const agents = ["red", "green", "blue", "white"]
      const key = await server.newAccount("busy", "pro")
      const states = new Map(agents.map((agent) => [agent, [[] as ReadonlyArray<string>]]))
      const run = { isOver: false }
      const writer = async (agentId: string) => {
        for (let count = 0; !run.isOver; count++) {
          const known = states.get(agentId)!
          const held = known.at(-1)!
          const isRemoval = count % 5 === 4
          const body = isRemoval
            ? { ids: [held[0]] }
            : { agentId, memories: [{ kind: "factual_memory", data: { subject: agentId, fact: `Number ${count}` } }] }
          const path = isRemoval ? "/v1/memories/batch/delete" : "/v1/memories"
          const answer = await server.call("POST", path, { key, body })
          expect(answer.status, JSON.stringify(answer.body)).toBe(200)
          known.push(isRemoval ? held.slice(1) : [...held, answer.body.created[0].id])
        }
      }
      const writers = agents.map(writer)
      await untilTrue(() => agents.every((agent) => states.get(agent)!.length > 8))
      const acknowledged = new Map(agents.map((agent) => [agent, states.get(agent)!.length - 1]))
      await create(to)
      const during = agents.map((agent) => states.get(agent)!.length - 1 - acknowledged.get(agent)!)
      run.isOver = true
      await Promise.all(writers)
      expect(Math.min(...during)).toBeGreaterThan(0)

      const again = await restored(to)
      for (const agent of agents) {
        const { body } = await again.call("GET", `/v1/memories?agentId=${agent}&limit=100`, { key })
        expect(body.total).toBeLessThanOrEqual(100)
        const found = body.memories.map(({ id }: { readonly id: string }) => id).toSorted()
        const moment = states.get(agent)!.findIndex((ids) => JSON.stringify(ids.toSorted()) === JSON.stringify(found))
        expect(moment, `${agent}: what was restored was never there`).toBeGreaterThanOrEqual(acknowledged.get(agent)!)
      }
      const books = await again.asOperator("GET", "/admin/ledger/check")
      expect(books.body).toMatchObject({ ok: true, problems: [] })
      await again.stop()
    })
  })

describe("a backup that was changed", () => {
  it("is found out by verify, and not restored silently", async () => {
    const to = scratch("backup")
    await fill(server, "flipped", ["flipped"])
    await create(to)
    flip(objectOf(to))
    await refused(["backup", "verify", "--from", to], /namespaces\/[0-9a-f]{12}\.db: .*digest[^]*cannot be restored/)
    const directory = join(scratch("bad"), "data")
    await refused(["restore", "--from", to, "--to", directory], "digest")
    // What is there is no data directory: the service says so.
    expect(existsSync(join(directory, "restore-unfinished"))).toBe(true)
    await refused(["accounts", "list"], "was interrupted; repeat it", { ...withoutModel, MUNIMENT_DATA_DIR: directory })
  })

  it("is found out when an object is missing or the manifest is changed", async () => {
    const to = scratch("backup")
    await fill(server, "missing", ["missing"])
    const { id } = await create(to)
    rmSync(objectOf(to))
    await refused(["backup", "verify", "--from", to], /is missing/)
    flip(join(to, "manifests", `${id}.json`))
    await refused(["backup", "list", "--from", to], "was damaged after it was written")
  })
})

describe("a sealed backup", () => {
  it("opens with its passphrase only, and shows nothing without", async () => {
    const to = scratch("backup")
    const keys = scratch("keys")
    const file = join(keys, "passphrase")
    const other = join(keys, "other")
    writeFileSync(file, "correct horse battery\n", { mode: 0o600 })
    writeFileSync(other, "wrong horse battery\n", { mode: 0o600 })
    const [id] = await fill(server, "hidden", ["bassoonist"])
    await create(to, "--passphrase-file", file)
    expect(filesWith(to, "bassoonist")).toEqual([])
    expect(filesWith(to, "SQLite format")).toEqual([])
    expect(filesWith(to, server.operatorToken)).toEqual([])
    await refused(["backup", "list", "--from", to], "give --passphrase-file or --key-file")
    await refused(["backup", "list", "--from", to, "--passphrase-file", other], "the passphrase is wrong")
    await refused(["backup", "create", "--to", to], "give --passphrase-file or --key-file", environmentOf(server))
    const again = await restored(to, ["--passphrase-file", file])
    expect((await again.call("GET", `/v1/memories/${id}`)).body.memory.data.subject).toBe("bassoonist")
    await again.stop()
  })

  it("opens with a key file, and a change of it is found out", async () => {
    const to = scratch("backup")
    const keys = scratch("keys")
    const file = join(keys, "key")
    writeFileSync(file, new Uint8Array(32).fill(7), { mode: 0o600 })
    writeFileSync(join(keys, "short"), "short", { mode: 0o600 })
    await refused(
      ["backup", "create", "--to", to, "--key-file", join(keys, "short")],
      "fewer than 32 bytes",
      environmentOf(server)
    )
    await fill(server, "sealed", ["sealed"])
    await create(to, "--key-file", file)
    await done(["backup", "verify", "--from", to, "--key-file", file])
    await refused(["backup", "verify", "--from", to, "--passphrase-file", file], /key file/)
    flip(objectOf(to))
    await refused(["backup", "verify", "--from", to, "--key-file", file], "changed after it was sealed")
  })
})

it("a restore writes into an empty directory only", async () => {
  const to = scratch("backup")
  await create(to)
  const directory = scratch("full")
  writeFileSync(join(directory, "mine"), "mine")
  await refused(["restore", "--from", to, "--to", directory], "is not empty")
  expect(readdirSync(directory)).toEqual(["mine"])
  const interrupted = scratch("interrupted")
  mkdirSync(join(interrupted, "namespaces"))
  writeFileSync(join(interrupted, "restore-unfinished"), "some backup\n")
  writeFileSync(join(interrupted, "control.db"), "half of it")
  await done(["restore", "--from", to, "--to", interrupted])
  expect(existsSync(join(interrupted, "restore-unfinished"))).toBe(false)
})

it("prune keeps the newest, and needs to be told how many", async () => {
  const to = scratch("backup")
  const ids = []
  for (const word of ["one", "two", "three"]) {
    await fill(server, "pruned", [word])
    ids.push((await create(to)).id)
  }
  await refused(["backup", "prune", "--from", to], "Say how many stay")
  await done(["backup", "prune", "--from", to, "--keep", "2", "--dry-run"])
  expect(readdirSync(join(to, "manifests"))).toHaveLength(3)
  await done(["backup", "prune", "--from", to, "--keep", "2"])
  const { out } = await done(["backup", "list", "--from", to, "--json"])
  expect(JSON.parse(out).backups.map(({ id }: { readonly id: string }) => id)).toEqual(ids.slice(1))
  for (const id of ids.slice(1)) await done(["backup", "verify", "--from", to, "--backup", id])
  await refused(["restore", "--from", to, "--to", scratch("gone"), "--backup", ids[0]!], "there is no backup")
})

it("follow continues the last backup in each round, and begins a new one after an erasure", async () => {
  const to = scratch("backup")
  const [gone] = await fill(server, "followed", ["first"])
  const following = startMuniment(["backup", "follow", "--to", to, "--every", "1"], environmentOf(server))
  const manifests = () => (existsSync(join(to, "manifests")) ? readdirSync(join(to, "manifests")) : [])
  await untilTrue(() => manifests().length > 0)
  const [first] = manifests()
  const [id] = await fill(server, "followed", ["second"])
  await untilTrue(() => !manifests().includes(first!))
  expect((await server.call("DELETE", `/v1/memories/${gone}`)).status).toBe(200)
  await untilSecondIsReached(to)
  following.process.kill("SIGTERM")
  await following.ended
  await expectMomentsAround(to, String(gone))
  const again = await restored(to)
  expect((await again.call("GET", `/v1/memories/${id}`)).body.memory.data.subject).toBe("second")
  expect((await again.call("GET", `/v1/memories/${gone}`)).status).toBe(404)
  await again.stop()
})

if (isLongRun)
  it("follow with --keep-days removes what is older and keeps the others, however many they are", async () => {
    const to = scratch("backup")
    await fill(server, "aged", ["first"])
    const { id } = await create(to)
    const store = await Effect.runPromise(BackupStore.open(directoryTarget(to), Option.none()))
    const manifest = await Effect.runPromise(store.manifest(id))
    const dated = (hours: number, suffix: string) => {
      const startedAt = Date.now() - hours * 3_600_000
      return { ...manifest, id: backupIdOf(startedAt, suffix), startedAt, finishedAt: startedAt, log: null }
    }
    const [old, ...young] = [dated(49, "0000"), ...Array.from({ length: 61 }, (_, at) => dated(47, `1${100 + at}`))]
    for (const each of [old!, ...young]) await Effect.runPromise(store.putManifest(each))
    await refused(["backup", "follow", "--to", to, "--keep-days", "0"], "--keep-days are at least 1")
    const following = startMuniment(
      ["backup", "follow", "--to", to, "--every", "1", "--keep-days", "2"],
      environmentOf(server)
    )
    const manifests = () => readdirSync(join(to, "manifests"))
    await untilTrue(() => !manifests().includes(`${old!.id}.json`))
    following.process.kill("SIGTERM")
    await following.ended
    for (const each of young) expect(manifests()).toContain(`${each.id}.json`)
  })

/** Until there are two chains, and the first one has got what it lacked, or cannot get it. */
const untilSecondIsReached = async (to: string): Promise<void> => {
  const deadline = Date.now() + patienceMillis
  for (;;) {
    const { out } = await done(["backup", "list", "--from", to, "--json"])
    const [before, after] = JSON.parse(out).backups
    const [begins, ends] = before.until.ordinals
    const next = after?.until.ordinals[0] ?? begins
    if (next !== begins && (before.isCut || ends >= next - 1)) return
    if (Date.now() > deadline) throw new Error("no whole backup followed the erasure")
    await new Promise((wake) => setTimeout(wake, 200))
  }
}

/** The backup from before the erasure reaches to the next one, unless the log was faster than the round before it. */
const expectMomentsAround = async (to: string, gone: string): Promise<void> => {
  const { out } = await done(["backup", "list", "--from", to, "--json"])
  const [before, after] = JSON.parse(out).backups
  const { ordinals } = before.until
  if (before.isCut) {
    expect((await done(["backup", "list", "--from", to])).out).toMatch(/No moment after .* and before .* erased/)
    const until = String(after.until.ordinals[0] - 1)
    await refused(["restore", "--from", to, "--to", scratch("cut"), "--until", until], "partly erased")
    return
  }
  expect(ordinals[1]).toBeGreaterThanOrEqual(after.until.ordinals[0] - 1)
  const last = await restored(to, ["--backup", before.id, "--until", String(ordinals[1])])
  expect((await last.call("GET", `/v1/memories/${gone}`)).status).toBe(404)
  await last.stop()
  // What the earlier backup has of it is not in the directory of a later moment.
  expect(filesWith(last.dataDirectory, "It is first")).toEqual([])
}

it("refuses names and ids of files that no backup holds", async () => {
  const id = "20261122T220000123Z-5f3a"
  const ask = (query: object) => server.asOperator("GET", `/admin/backups/copies?${new URLSearchParams({ ...query })}`)
  for (const file of ["lock.db", "../control.db", "namespaces/../control.db", "namespaces/xyz.db", "/etc/passwd"]) {
    expect((await ask({ id, file })).status, file).toBe(400)
  }
  expect((await ask({ id: "../x", file: "control.db" })).status).toBe(400)
  expect((await ask({ id, file: "namespaces/000000000000.db" })).body).toEqual({ success: true, state: "absent" })
  const { body } = await server.asOperator("GET", "/admin/backups/files")
  for (const { file } of body.files) expect((await ask({ id, file })).status, file).toBe(200)
})

it("refuses to note a backup of a time that there is not, and goes on telling its age", async () => {
  const asked = { key: server.operatorToken }
  for (const id of ["20269999T999999999Z-0000", "00000000T000000000Z-0000", "20261122T240000000Z-0000"]) {
    expect((await server.call("POST", "/admin/backups", { ...asked, body: { id } })).status, id).toBe(400)
    expect((await server.call("GET", "/admin/status", asked)).status, id).toBe(200)
  }
})

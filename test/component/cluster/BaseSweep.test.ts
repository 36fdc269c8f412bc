/** Bases that no row points to are removed after a day, and no other one, over a real PostgreSQL and a folder. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "@effect/vitest"
import { ConfigProvider, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { openTarget } from "@muniment/backup/target/openTarget"
import { BaseStore, packedBases } from "@muniment/cluster/bases/BaseStore"
import { sweepBases } from "@muniment/cluster/nodes/BaseSweep"
import { controlTag } from "@muniment/cluster/control/ReplicatedControl"
import { logDatabase } from "@muniment/cluster/log/LogDatabase"
import { openPostgresLog } from "@muniment/cluster/log/PostgresLog"
import { clusterStatus } from "@muniment/cluster/nodes/clusterStatus"
import { logCommit, logTag } from "../../support/CommitLogs.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"
import { usePostgres } from "../../support/usePostgres.ts"

const server = usePostgres()

const tag = logTag(1)

it.live("bases that nothing points to go a day after they were seen, and none that counts does", () =>
  Effect.gen(function* () {
    const directory = temporaryDirectory()
    const file = join(directory, "file")
    writeFileSync(file, "the bytes of a base")
    const target = yield* openTarget(join(directory, "bases")).pipe(
      Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromUnknown({}))
    )
    const bases = Context.get(yield* Layer.build(packedBases(target)), BaseStore)
    const names = () =>
      Effect.map(Effect.all([bases.list("control/"), bases.list("namespaces/")]), (both) => both.flat())
    const sql = yield* SqlClient
    const log = yield* openPostgresLog({ url: server.url(), node: "sweeper" })
    yield* log.claim(tag)
    yield* log.attach(tag, { epoch: 1, seq: 0 })
    yield* log.append(logCommit(1, 0))
    yield* log.claim(controlTag)
    const counts = `namespaces/${tag}/1-1-counts`
    const late = `namespaces/${tag}/1-1-late`
    const strays = [`control/1-1-stray`, `namespaces/${tag}/1-0-stray`]
    // Of another cluster in the same place.
    const foreign = `namespaces/${logTag(2)}/1-1-foreign`
    for (const name of [counts, late, foreign, ...strays]) yield* bases.put(name, file)
    // Its node was killed before the list of the base.
    yield* target.put(`namespaces/${tag}/1-1-part/0`, Buffer.from("a part"))
    yield* log.rebase(tag, 1, counts)

    const all = yield* names()
    expect(all).toHaveLength(6)
    expect(yield* sweepBases(bases)).toEqual({ looked: 6, removed: 0 })
    expect(yield* names()).toEqual(all)
    expect((yield* clusterStatus).strays).toMatchObject({ waiting: 4, sweep: { looked: 6, removed: 0 } })

    // One of them counts by the time that its day has come.
    yield* log.rebase(tag, 1, late)
    yield* sql`UPDATE muniment_log.stray SET seen_at = seen_at - interval '1 day'`
    expect(yield* sweepBases(bases)).toEqual({ looked: 6, removed: 3 })
    expect((yield* names()).toSorted()).toEqual([counts, foreign, late].toSorted())
    // The one before it waits for its own day.
    expect((yield* clusterStatus).strays).toMatchObject({ waiting: 1, sweep: { looked: 6, removed: 3 } })

    // The namespace is removed, and its node killed before the base went.
    yield* log.remove(tag)
    expect(yield* sweepBases(bases)).toEqual({ looked: 3, removed: 1 })
    expect((yield* names()).toSorted()).toEqual([counts, foreign].toSorted())
    yield* log.claim(tag)

    // A node that stood still all the while: what it put is gone, and nothing points there.
    expect((yield* Effect.flip(log.rebase(tag, 1, strays[1]!)))._tag).toBe("LogFenced")
  }).pipe(Effect.scoped, Effect.provide(Layer.fresh(Layer.unwrap(Effect.sync(() => logDatabase(server.url(), 1))))))
)

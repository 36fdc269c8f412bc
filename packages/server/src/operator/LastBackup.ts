/**
 * The last complete backup, for `doctor` and the metrics: `last-backup.json` in the data directory, so that its age
 * survives a restart.
 */
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { InsufficientStorage } from "@muniment/domain/Errors"
import { classifySqlite } from "@muniment/sqlite/SqliteError"
import { replacePrivateFile } from "@muniment/trust/PrivateFile"
import { DataDirectory } from "../DataDirectory.ts"

const Note = Schema.Struct({ id: Schema.String, startedAt: Schema.Int })
const decodeNote = Schema.decodeUnknownOption(Schema.fromJsonString(Note))

export class LastBackup extends Context.Service<
  LastBackup,
  {
    /** Start of the last backup; undefined: none is known. */
    readonly startedAt: Effect.Effect<number | undefined>
    /** Milliseconds since then. */
    readonly ageMillis: Effect.Effect<number | undefined>
    /** `id` begins with the time of the start. */
    readonly note: (id: string) => Effect.Effect<void, InsufficientStorage>
  }
>()("muniment/server/LastBackup") {
  static readonly layer = Layer.effect(
    LastBackup,
    Effect.gen(function* () {
      const path = join((yield* DataDirectory).path, "last-backup.json")
      // A note that cannot be read is none: the next backup writes it again.
      const found = yield* Effect.sync(() => (existsSync(path) ? readFileSync(path, "utf8") : undefined))
      const noted = found === undefined ? undefined : decodeNote(found)
      let startedAt = noted?._tag === "Some" ? noted.value.startedAt : undefined
      // One of a time to come is noted by a clock that was wrong.
      const known = Effect.map(Clock.currentTimeMillis, (nowMillis) =>
        startedAt === undefined || startedAt > nowMillis ? undefined : { startedAt, ageMillis: nowMillis - startedAt }
      )
      return {
        startedAt: Effect.map(known, (last) => last?.startedAt),
        ageMillis: Effect.map(known, (last) => last?.ageMillis),
        note: (id) =>
          attempt(() => {
            const began = startOf(id)
            replacePrivateFile(path, `${JSON.stringify({ id, startedAt: began })}\n`)
            startedAt = began
          })
      }
    })
  )
}

/** A full disk is the caller's to know; any other failure is a defect. */
const attempt = (step: () => void): Effect.Effect<void, InsufficientStorage> =>
  Effect.suspend(() => {
    try {
      step()
      return Effect.void
    } catch (cause) {
      if (classifySqlite(cause, "note")?.reason !== "full") return Effect.die(cause)
      return Effect.fail(new InsufficientStorage({ code: "insufficient_storage", error: "the disk is full" }))
    }
  })

/** `20261122T220000123Z-5f3a` -> milliseconds. */
const startOf = (id: string): number =>
  Date.parse(id.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z.*$/, "$1-$2-$3T$4:$5:$6.$7Z"))

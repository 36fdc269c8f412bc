/**
 * The service as the source of a backup: it makes copies in its data directory, and this process, which is on the same
 * machine, reads them there. A copy loses its name as soon as it is open, so that a kill leaves none behind.
 */
import { closeSync, openSync, read, rmSync } from "node:fs"
import { Effect } from "effect"
import { type BackupSource, SourceFailed } from "@muniment/backup/BackupSource"
import type { BackupOperator } from "./commands/operator.ts"

export const serviceSource = Effect.fnUntraced(function* (operator: BackupOperator) {
  const { release } = yield* Effect.mapError(operator.listFiles(), sourceFailed)
  return {
    release,
    marks: operator.listFiles().pipe(
      Effect.map(({ files, ordinal }) => ({ files, ordinal: ordinal ?? undefined })),
      Effect.mapError(sourceFailed)
    ),
    copy: Effect.fnUntraced(function* (id, file) {
      const answer = yield* copyOf(operator, id, file)
      if (answer.state === "damaged") return { _tag: "Damaged" as const, reason: answer.reason ?? "it cannot be read" }
      const { copied, path } = answer
      if (answer.state !== "ready" || copied === undefined || path === undefined) return { _tag: "Absent" as const }
      const handle = yield* Effect.acquireRelease(
        Effect.try({ try: () => openUnnamed(path), catch: sourceFailed }),
        (opened) => Effect.sync(() => closeSync(opened))
      )
      return { _tag: "Copy" as const, copied, read: (at: number, bytes: number) => readAt(handle, at, bytes) }
    })
  } satisfies BackupSource
})

const copyOf = Effect.fnUntraced(function* (operator: BackupOperator, id: string, file: string) {
  for (;;) {
    const answer = yield* Effect.mapError(operator.copyFile({ query: { id, file } }), sourceFailed)
    if (answer.state !== "copying") return answer
  }
})

const openUnnamed = (path: string): number => {
  const handle = openSync(path, "r")
  rmSync(path)
  return handle
}

const readAt = (handle: number, at: number, bytes: number): Effect.Effect<Uint8Array, SourceFailed> =>
  Effect.callback((resume) => {
    const chunk = new Uint8Array(bytes)
    const fill = (from: number): void =>
      read(handle, chunk, from, bytes - from, at + from, (error, count) => {
        if (error !== null) return resume(Effect.fail(sourceFailed(error)))
        if (count === 0 && from < bytes) {
          return resume(Effect.fail(new SourceFailed({ message: "a copy is shorter than the service said" })))
        }
        return from + count === bytes ? resume(Effect.succeed(chunk)) : fill(from + count)
      })
    fill(0)
  })

const sourceFailed = (cause: unknown): SourceFailed =>
  new SourceFailed({ message: cause instanceof Error && cause.message !== "" ? cause.message : String(cause) })

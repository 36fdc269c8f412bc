/**
 * The note in a data directory that its data was moved into a cluster: no service starts over it any more, so that the
 * two do not go on side by side. An operator who wants the directory as it was then deletes the note.
 *
 * Invariant: the note is there before the cluster has the data; until `isDone` the move may have been interrupted.
 */
import { existsSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { Data, Option, Schema } from "effect"
import { replacePrivateFile } from "@muniment/trust/PrivateFile"

const movedName = "moved-to-cluster"

const MovedNote = Schema.fromJsonString(
  Schema.Struct({
    /** The cluster's, without user and password. */
    database: Schema.String,
    /** Id of the move; the cluster has the same. */
    id: Schema.String,
    isDone: Schema.Boolean
  })
)
export type MovedNote = typeof MovedNote.Type

/** The data is in a cluster. */
export class DirectoryMoved extends Data.TaggedError("DirectoryMoved")<{
  readonly path: string
  readonly note: MovedNote | undefined
}> {
  override get message(): string {
    const { note, path } = this
    const went =
      note === undefined
        ? `the data of ${path} was moved into a cluster`
        : note.isDone
          ? `the data of ${path} was moved into the cluster of ${note.database}`
          : `a move of ${path} into the cluster of ${note.database} was interrupted; repeat it: npm run muniment -- migrate --to ...`
    return `${went}; to use the directory as it was then, without what the cluster has since, delete ${join(path, movedName)}`
  }
}

/** Undefined: it was not moved. */
export const movedFrom = (path: string): DirectoryMoved | undefined => {
  const file = join(path, movedName)
  if (!existsSync(file)) return undefined
  return new DirectoryMoved({ path, note: Option.getOrUndefined(decodeNote(readFileSync(file, "utf8"))) })
}

const decodeNote = Schema.decodeUnknownOption(MovedNote)

export const noteMove = (path: string, note: MovedNote): void =>
  replacePrivateFile(join(path, movedName), `${JSON.stringify(note)}\n`)

export const forgetMove = (path: string): void => rmSync(join(path, movedName), { force: true })

/** Entry of the thread that copies files for a backup (`FileCopies.ts`): a copy of a large agent takes seconds. */
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { classifySqlite } from "@muniment/sqlite/SqliteError"
import { serve } from "@muniment/worker/WorkerEntry"
import { controlFile, namespaceFile } from "../BackupFormat.ts"
import { type Copied, copyOf, type CopyRequest, markOf } from "./copyOf.ts"

export type CopyOrder =
  | ({ readonly _tag: "Copy" } & CopyRequest)
  | {
      readonly _tag: "Marks"
      readonly directory: string
      readonly secrets: ReadonlyArray<string>
      readonly nowMillis: number
    }

/** Errors travel as their reasons: a class does not survive the way between threads. */
export type CopyReply =
  | { readonly _tag: "Copied"; readonly copied: Copied | undefined }
  | { readonly _tag: "Marks"; readonly marks: ReadonlyArray<{ readonly file: string; readonly mark: string | null }> }
  | { readonly _tag: "Failed"; readonly reason: "full" | "corrupt" | "other"; readonly message: string }

const answer = (order: CopyOrder): CopyReply => {
  try {
    if (order._tag === "Copy") return { _tag: "Copied", copied: copyOf(order) }
    return { _tag: "Marks", marks: marksOf(order.directory, order.secrets, order.nowMillis) }
  } catch (cause) {
    const failure = classifySqlite(cause, "copy")?.reason
    const reason = failure === "full" || failure === "corrupt" ? failure : "other"
    return { _tag: "Failed", reason, message: cause instanceof Error ? cause.message : String(cause) }
  }
}

const marksOf = (directory: string, secrets: ReadonlyArray<string>, nowMillis: number) => {
  const tags = readdirSync(join(directory, "namespaces")).flatMap(
    (name) => /^([0-9a-f]{12})\.db$/.exec(name)?.[1] ?? []
  )
  const files = [controlFile, ...secrets, ...tags.toSorted().map(namespaceFile)]
  return files.flatMap((file) => {
    const mark = markOf(join(directory, file), nowMillis)
    return mark === undefined ? [] : [{ file, mark: mark === "" ? null : mark }]
  })
}

serve(answer)

/** Entry of the thread that takes copies of SQLite files in use (`SnapshotThread`, which says why it loads so little). */
import { rmSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { serve } from "@muniment/worker/WorkerEntry"
import type { SnapshotRequest } from "./BaseStore.ts"

/** For a lock of the file's owner. */
const busyMillis = 1_000

serve(({ filename, snapshot }: SnapshotRequest): void => {
  rmSync(snapshot, { force: true })
  const database = new DatabaseSync(filename, { timeout: busyMillis })
  try {
    database.prepare("VACUUM INTO ?").run(snapshot)
  } finally {
    database.close()
  }
})

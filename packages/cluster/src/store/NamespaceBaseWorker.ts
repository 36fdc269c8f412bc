/** Entry of the thread that takes copies of namespaces' files in use (`TenuredLog.ts`); answers with what they hold. */
import { takeSnapshot } from "@muniment/engine/store/sqlite/CopyComparison"
import type { CopyContent } from "@muniment/engine/store/sqlite/namespaceMeta"
import { serve } from "@muniment/worker/WorkerEntry"
import { rmSync } from "node:fs"
import type { SnapshotRequest } from "./TenuredLog.ts"

serve(({ filename, snapshot }: SnapshotRequest): CopyContent => {
  rmSync(snapshot, { force: true })
  return takeSnapshot(filename, snapshot)
})

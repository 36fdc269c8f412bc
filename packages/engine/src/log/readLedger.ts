/** Reads changes of the control database where they lie in the log. */
import { closeSync, openSync, readSync } from "node:fs"
import type { LogEntry } from "./CommitLog.ts"
import { type LedgerChange, ledgerChangeOf } from "./ledgerRecords.ts"
import { LogDamaged } from "./LogError.ts"
import { isBodyWhole, readHeader } from "./logFormat.ts"
import { segmentPath } from "./segmentFiles.ts"

/** In order, each when it is asked for. Throws `LogDamaged` at one that is not whole. */
export const readLedger = function* (
  directory: string,
  entries: ReadonlyArray<LogEntry>
): Generator<LedgerChange, void, void> {
  for (const { ordinal, place } of entries) {
    const bytes = Buffer.allocUnsafeSlow(place.length)
    const file = openSync(segmentPath(directory, place.segment), "r")
    try {
      bytes.fill(0, readSync(file, bytes, 0, place.length, place.offset))
    } finally {
      closeSync(file)
    }
    const header = readHeader(bytes, 0)
    if (header?.ordinal !== ordinal || !isBodyWhole(bytes, 0, header))
      throw new LogDamaged({ reason: `record ${ordinal} of the control database is damaged` })
    yield ledgerChangeOf({ header, bytes })
  }
}

/**
 * Appends to a commit log until it is killed, and says what was acknowledged: `CommitLogWriter.ts <directory>
 * <starts>`. `starts` lists how many commits each namespace has, as JSON. Every twentieth commit of a namespace erases
 * all before it.
 */
import { Effect } from "effect"
import { writeSync } from "node:fs"
import { openFileLog } from "@muniment/engine/log/FileLog"
import { logCommit, logTag, smallLog } from "../support/CommitLogs.ts"

const [, , directory = "", starts = "[]"] = process.argv
const say = (line: object): void => void writeSync(1, `${JSON.stringify(line)}\n`)

const write = Effect.gen(function* () {
  const log = yield* openFileLog(smallLog(directory))
  const one = Effect.fnUntraced(function* (start: number, at: number) {
    const number = at + 1
    yield* log.attach(logTag(number), { epoch: 1, seq: start })
    for (let seq = start; ; seq++) {
      const { ordinal } = yield* log.append(logCommit(number, seq, `secret ${number} ${seq} `.repeat(40)))
      yield* log.whenSynced(ordinal)
      say({ number, ordinal })
      if (seq % 20 !== 19) continue
      say({ number, erasing: ordinal })
      yield* log.erase(logTag(number), ordinal, seq)
      say({ number, erased: ordinal })
    }
  })
  yield* Effect.forEach(JSON.parse(starts) as ReadonlyArray<number>, one, { concurrency: "unbounded" })
})

await Effect.runPromise(Effect.scoped(write))

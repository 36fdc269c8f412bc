/** PostgreSQL killed in the middle of appends: nothing acknowledged is lost, doubled or out of order. */
import { Effect, Fiber } from "effect"
import { expect } from "vitest"
import { openPostgresLog, type PostgresLog } from "@muniment/cluster/log/PostgresLog"
import { logCommit, logTag } from "../../support/CommitLogs.ts"
import { it } from "../../support/it.ts"
import { usePostgres } from "../../support/usePostgres.ts"

const server = usePostgres()

const namespaces = [1, 2, 3, 4, 5, 6, 7, 8]
const kills = 3
/** Acknowledged in all, between one kill and the next. */
const commitsBetween = 80

/** Claims again after each fault, as an owner that opens its namespace anew. */
const writer = Effect.fnUntraced(function* (
  log: PostgresLog,
  number: number,
  acknowledged: Set<string>,
  isEnding: () => boolean
) {
  while (!isEnding()) {
    const claim = yield* Effect.option(log.claim(logTag(number)))
    if (claim._tag === "None") {
      yield* Effect.sleep(100)
      continue
    }
    yield* log.attach(logTag(number), { epoch: 1, seq: 0 })
    for (let seq = claim.value.state?.seq ?? 0; !isEnding(); seq++) {
      const outcome = yield* Effect.result(log.append(logCommit(number, seq)))
      if (outcome._tag === "Failure") {
        expect(outcome.failure._tag).toBe("LogFault")
        break
      }
      acknowledged.add(`${number}:${seq}`)
    }
  }
})

it.live("PostgreSQL that is killed keeps all that was acknowledged, once and in order", function* () {
  const log = yield* openPostgresLog({ url: server.url(), node: "killed" })
  const acknowledged = new Set<string>()
  let isEnding = false
  const all = Effect.forEach(namespaces, (number) => writer(log, number, acknowledged, () => isEnding), {
    concurrency: "unbounded"
  })
  const writing = yield* Effect.forkScoped(all)
  for (let kill = 0; kill <= kills; kill++) {
    const before = acknowledged.size
    while (acknowledged.size < before + commitsBetween) yield* Effect.sleep(10)
    if (kill === kills) break
    yield* Effect.promise(() => server.kill())
    yield* Effect.promise(() => server.startAgain())
  }
  isEnding = true
  yield* Fiber.join(writing)
  const found = yield* Effect.forEach(namespaces, (number) =>
    Effect.map(log.tail(logTag(number), 0), (entries) => entries.map(({ record }) => record.header.fromSeq))
  )
  for (const seqs of found) expect(seqs).toEqual(seqs.map((_, at) => at))
  for (const one of acknowledged) {
    const [number, seq] = one.split(":").map(Number)
    expect(found[namespaces.indexOf(number!)]).toContain(seq)
  }
})

import { Effect } from "effect"
import { expect, it } from "vitest"
import { reportReady } from "@muniment/server/cluster/ClusterNode"

interface Report {
  readonly key: string | undefined
}

const seenOf = async (...reports: ReadonlyArray<Report | undefined>) => {
  const seen: Array<Report | undefined> = []
  const ready = reportReady<Report>(
    (report) => Effect.sync(() => void seen.push(report)),
    ({ key }) => key !== undefined
  )
  await Effect.runPromise(Effect.forEach(reports, ready))
  return seen
}

it("a node says once that it is ready, whether it serves or hands on", async () => {
  const without = { key: undefined }
  expect(await seenOf(undefined, undefined, without)).toEqual([undefined])
  expect(await seenOf(without, without, undefined)).toEqual([without])
})

it("a key that is shown once is shown by a node that was ready before it made it", async () => {
  expect(await seenOf(undefined, { key: "first" }, undefined)).toEqual([undefined, { key: "first" }])
})

import { describe, expect, it } from "vitest"
import { makeRequestRecords, type RequestFilter } from "@muniment/server/http/RequestRecords"

const entry = (at: number, account = "a", status = 200) => ({
  at,
  method: "GET",
  operation: at % 2 === 0 ? "memories.search" : "memoriesOther.list",
  status,
  millis: 1,
  account,
  caller: `key of ${account}`
})
const all: RequestFilter = {
  before: undefined,
  account: undefined,
  caller: undefined,
  operation: undefined,
  isRefused: undefined,
  limit: 100
}

describe("records of requests", () => {
  it("hold the last ones, newest first, and go on before an id", () => {
    const records = makeRequestRecords(4)
    expect(records.list(all)).toEqual([])
    for (let at = 0; at < 10; at++) records.add(entry(at))
    expect(records.list(all).map(({ at, id }) => [id, at])).toEqual([
      [9, 9],
      [8, 8],
      [7, 7],
      [6, 6]
    ])
    expect(records.list({ ...all, limit: 2, before: 9 }).map(({ id }) => id)).toEqual([8, 7])
    expect(records.list({ ...all, before: 6 })).toEqual([])
    expect(records.list({ ...all, before: 1_000 })).toHaveLength(4)
  })

  it("are found by account, caller, operation or its group, and outcome", () => {
    const records = makeRequestRecords(100)
    records.add(entry(0))
    records.add(entry(1, "b", 403))
    records.add(entry(2, "b"))
    const found = (filter: Partial<RequestFilter>) => records.list({ ...all, ...filter }).map(({ id }) => id)
    expect(found({ account: "b" })).toEqual([2, 1])
    expect(found({ caller: "key of a" })).toEqual([0])
    expect(found({ operation: "memories" })).toEqual([2, 0])
    expect(found({ operation: "memoriesOther.list" })).toEqual([1])
    expect(found({ isRefused: true })).toEqual([1])
    expect(found({ isRefused: false, account: "b" })).toEqual([2])
  })
})

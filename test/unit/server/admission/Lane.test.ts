/** One kind of work: when a request begins, waits, is refused. Time is an argument. */
import { describe, expect, it } from "vitest"
import { Limits } from "@muniment/domain/Limits"
import { Lane, type Visit } from "@muniment/server/admission/Lane"
import { WorkLimit } from "@muniment/server/admission/WorkLimit"
import type { Refusal } from "@muniment/server/admission/Refusals"

/** A lane whose work takes `serviceMillis` for each request in work: a service that works on one thing at a time. */
class Simulation {
  readonly lane: Lane
  readonly served = new Map<string, Array<number>>()
  readonly refused = new Map<string, Array<Refusal>>()
  nowMillis = 0
  readonly #serviceMillis: number
  readonly #inWork: Array<{ readonly visit: Visit; readonly arrivedMillis: number }> = []
  #freeMillis = 0

  constructor(serviceMillis: number, lane = new Lane("write")) {
    this.lane = lane
    this.#serviceMillis = serviceMillis
  }

  arrive(account: string, weight = 1): void {
    const arrivedMillis = this.nowMillis
    const visit: Visit = {
      account,
      weight,
      cost: 1,
      begin: () => {
        if (this.#inWork.length === 0) this.#freeMillis = this.nowMillis + this.#serviceMillis
        this.#inWork.push({ visit, arrivedMillis })
      },
      refuse: (refusal) => listOf(this.refused, account).push(refusal)
    }
    this.lane.enter(visit, this.nowMillis)
  }

  tick(): void {
    this.nowMillis += 1
    while (this.#inWork.length > 0 && this.#freeMillis <= this.nowMillis) {
      const { arrivedMillis, visit } = this.#inWork.shift()!
      listOf(this.served, visit.account).push(this.nowMillis - arrivedMillis)
      this.#freeMillis += this.#serviceMillis
      this.lane.leave(visit, true, this.nowMillis)
    }
    if (this.nowMillis % 100 === 0) this.lane.refuseOverdue(this.nowMillis)
  }

  /** Each account sends a request every so many milliseconds. */
  run(millis: number, every: Readonly<Record<string, number>>, weights: Readonly<Record<string, number>> = {}): void {
    for (let step = 0; step < millis; step++) {
      for (const [account, period] of Object.entries(every)) {
        for (let at = 0; at < (period < 1 ? 1 / period : Number(step % period === 0)); at++) {
          this.arrive(account, weights[account])
        }
      }
      this.tick()
    }
  }

  servedOf(account: string): ReadonlyArray<number> {
    return this.served.get(account) ?? []
  }
  refusedOf(account: string): ReadonlyArray<Refusal> {
    return this.refused.get(account) ?? []
  }
}

const listOf = <Value>(lists: Map<string, Array<Value>>, key: string): Array<Value> => {
  const list = lists.get(key) ?? []
  lists.set(key, list)
  return list
}
const seconds = 10_000

it("below its capacity a lane lets everything in at once", () => {
  const simulation = new Simulation(4)
  simulation.run(seconds, { a: 8 })
  expect(simulation.refusedOf("a")).toEqual([])
  expect(Math.max(...simulation.servedOf("a"))).toBeLessThanOrEqual(5)
})

describe("at five times its capacity", () => {
  const flood = () => {
    const simulation = new Simulation(4)
    simulation.run(seconds, { noisy: 0.8, quiet: 80 })
    return simulation
  }

  it("serves as many as it can", () => {
    const simulation = flood()
    const served = simulation.servedOf("noisy").length + simulation.servedOf("quiet").length
    expect(served).toBeGreaterThan(0.95 * (seconds / 4))
  })

  it("serves nothing later than the bound and the time in work", () => {
    expect(Math.max(...flood().servedOf("noisy"))).toBeLessThan(Limits.queueWaitMillisMax + 300)
  })

  it("does not keep an account waiting that asks for less than its share", () => {
    const simulation = flood()
    expect(simulation.refusedOf("quiet")).toEqual([])
    expect(simulation.servedOf("quiet").length).toBeGreaterThan(seconds / 80 - 5)
    expect(Math.max(...simulation.servedOf("quiet"))).toBeLessThan(60)
  })

  it("refuses with the bound and the wait", () => {
    const [refusal] = flood().refusedOf("noisy")
    expect(refusal).toMatchObject({ bound: "wait", work: "write" })
    expect(refusal!.waitMillis).toBeGreaterThan(Limits.queueWaitMillis)
  })

  it("tells an account whose share is used up from a full service", () => {
    const simulation = new Simulation(4)
    simulation.run(seconds, { greedy: 0.8, modest: 6 })
    expect(simulation.refusedOf("greedy").map(({ bound }) => bound)).toContain("share")
    const bounds = new Set(simulation.refusedOf("modest").map(({ bound }) => bound))
    expect([...bounds].filter((bound) => bound === "share")).toEqual([])
  })

  it("divides by weight", () => {
    const simulation = new Simulation(4)
    simulation.run(seconds, { pro: 1, free: 1 }, { pro: 4, free: 1 })
    const ratio = simulation.servedOf("pro").length / simulation.servedOf("free").length
    expect(ratio).toBeGreaterThan(3)
    expect(ratio).toBeLessThan(5)
  })

  it("is back to normal as soon as the queue is served", () => {
    const simulation = flood()
    simulation.run(2_000, {})
    const before = simulation.servedOf("quiet").length
    simulation.run(1_000, { quiet: 50 })
    expect(Math.max(...simulation.servedOf("quiet").slice(before))).toBeLessThan(10)
  })
})

describe("calm accounts beside a crowd", () => {
  /** A lane without a place, its crowd waiting, and what calm accounts then begin. */
  const crowded = (limit = new WorkLimit()) => {
    const lane = new Lane("write", { limit })
    const begun: Array<readonly [string, boolean]> = []
    const visit = (account: string, isCalm = true): Visit => ({
      account,
      weight: 1,
      cost: 1,
      isCalm,
      begin: (isAtOnce) => void begun.push([account, isAtOnce]),
      refuse: () => undefined
    })
    for (let count = lane.state.limit + 3; count > 0; count--) lane.enter(visit("crowd", false), 0)
    begun.length = 0
    const enter = (account: string, isCalm = true): Visit => {
      const entered = visit(account, isCalm)
      lane.enter(entered, 0)
      return entered
    }
    return { lane, begun, enter }
  }

  it("begin at once in four spare places", () => {
    const { begun, enter, lane } = crowded()
    for (const account of ["a", "b", "c", "d", "e"]) enter(account)
    const atOnce = ["a", "b", "c", "d"].map((name) => [name, true])
    expect([begun, lane.state.waiting]).toEqual([atOnce, 4])
  })

  it("begin at once in half as many places as the limit has, also one account", () => {
    const { begun, enter, lane } = crowded(new WorkLimit({ least: 20 }))
    for (let count = 0; count < 11; count++) enter("a")
    expect([begun.length, lane.state.waiting]).toEqual([10, 4])
  })

  it("have no spare place when they have as many places", () => {
    const lane = new Lane("write")
    const begun: Array<string> = []
    const enter = (account: string): void =>
      lane.enter({ account, weight: 1, cost: 1, isCalm: true, begin: () => begun.push(account), refuse: () => 0 }, 0)
    const { limit } = lane.state
    for (let count = 0; count < limit + 1; count++) enter("a")
    expect([begun.length, lane.state.waiting]).toEqual([limit, 1])
  })

  it("find the spare places free again, and no place less for the crowd", () => {
    const { begun, enter, lane } = crowded()
    const { limit } = lane.state
    lane.leave(enter("a"), true, 1)
    lane.leave(enter("b"), true, 2)
    expect([begun.map(([name]) => name), lane.state.inWork]).toEqual([["a", "b"], limit])
  })

  it("wait like others when they have something waiting or are not calm", () => {
    const { begun, enter } = crowded()
    for (const account of ["crowd", "d"]) enter(account, account === "crowd")
    enter("d", false)
    enter("d")
    expect(begun).toEqual([])
  })
})

describe("a lane whose work never ends", () => {
  it("refuses what has waited too long", () => {
    const lane = new Lane("write")
    const refusals: Array<Refusal> = []
    const visit = (): Visit => ({
      account: "a",
      weight: 1,
      cost: 1,
      begin: () => undefined,
      refuse: (refusal) => refusals.push(refusal)
    })
    for (let count = 0; count < lane.state.limit + 1; count++) lane.enter(visit(), 0)
    lane.refuseOverdue(Limits.queueWaitMillisMax)
    expect(refusals).toEqual([])
    lane.refuseOverdue(Limits.queueWaitMillisMax + 1)
    expect(refusals).toHaveLength(1)
  })

  it("gives the place of a client that left to the next one", () => {
    const lane = new Lane("write")
    const begun: Array<string> = []
    const visit = (name: string): Visit => ({
      account: name,
      weight: 1,
      cost: 1,
      begin: () => void begun.push(name),
      refuse: () => void begun.push(`${name} refused`)
    })
    const first = Array.from({ length: lane.state.limit }, (_, at) => visit(`first${at}`))
    for (const each of first) lane.enter(each, 0)
    const [gone, next] = [visit("gone"), visit("next")]
    lane.enter(gone, 0)
    lane.enter(next, 0)
    lane.leave(gone, false, 1)
    lane.leave(first[0]!, false, 2)
    expect(begun.slice(first.length)).toEqual(["next"])
    expect(lane.state.waiting).toBe(0)
  })
})

it("waits as long as it is told to", () => {
  const lane = new Lane("write", { queueWaitMillis: 100 * Limits.queueWaitMillis })
  const simulation = new Simulation(100, lane)
  for (let request = 0; request < 200; request++) simulation.arrive("importer")
  while (simulation.servedOf("importer").length < 200 && simulation.nowMillis < 100_000) simulation.tick()
  expect([simulation.servedOf("importer").length, simulation.refused.size]).toEqual([200, 0])
})

it("keeps all places of payments while a node is silent", () => {
  const limit = new WorkLimit({ least: Limits.workMax })
  for (let round = 0; round < 200; round++) {
    limit.begin()
    limit.end(1, round < 20 ? 50 : 10_000, round * 100)
  }
  expect(limit.limit).toBe(Limits.workMax)
})

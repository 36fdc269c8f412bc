/** Whose turn it is. */
import { describe, expect, it } from "vitest"
import { FairQueue, type Waiting } from "@muniment/server/admission/Lane"

interface Item extends Waiting {
  readonly name: string
}

const item = (account: string, name: string, { cost = 1, weight = 1 } = {}): Item => ({ account, name, cost, weight })
const many = (account: string, count: number, terms = {}): ReadonlyArray<Item> =>
  Array.from({ length: count }, (_, at) => item(account, `${account}${at}`, terms))

const queueOf = (items: ReadonlyArray<Item>): FairQueue<Item> => {
  const queue = new FairQueue<Item>()
  for (const each of items) queue.add(each)
  return queue
}
const taken = (queue: FairQueue<Item>, count: number): ReadonlyArray<string> =>
  Array.from({ length: count }, () => queue.take()?.name ?? "nothing")
const countOf = (names: ReadonlyArray<string>, account: string): number =>
  names.filter((name) => name.startsWith(account)).length

describe("turns", () => {
  it("are first come, first served within an account", () => {
    expect(taken(queueOf(many("a", 3)), 4)).toEqual(["a0", "a1", "a2", "nothing"])
  })

  it("alternate between accounts, whoever sent more", () => {
    const names = taken(queueOf([...many("a", 100), ...many("b", 10)]), 20)
    expect(countOf(names, "b")).toBe(10)
  })

  it("follow the weights", () => {
    const names = taken(queueOf([...many("a", 100, { weight: 4 }), ...many("b", 100, { weight: 1 })]), 50)
    expect(countOf(names, "a")).toBe(40)
  })

  it("count what an item costs", () => {
    const names = taken(queueOf([...many("a", 50, { cost: 10 }), ...many("b", 50)]), 44)
    expect(countOf(names, "a")).toBe(4)
  })

  it("come at once for an account that had nothing waiting", () => {
    const queue = queueOf([...many("a", 50), ...many("b", 50)])
    taken(queue, 10)
    queue.add(item("quiet", "quiet"))
    expect(queue.take()?.name).toBe("quiet")
  })

  it("do not come first again for who sends one at a time", () => {
    const queue = queueOf([...many("a", 50), ...many("b", 50), item("sly", "sly")])
    const names: Array<string> = []
    for (let step = 0; step < 30; step++) {
      const next = queue.take()!
      names.push(next.name)
      if (next.account === "sly") queue.add(item("sly", "sly"))
    }
    expect(countOf(names, "sly")).toBeLessThanOrEqual(11)
  })

  it("skip what has left", () => {
    const [first, second] = many("a", 2)
    const queue = queueOf([first!, second!])
    expect([queue.delete(first!), queue.delete(first!)]).toEqual([true, false])
    expect(taken(queue, 2)).toEqual(["a1", "nothing"])
    expect([queue.size, queue.accounts]).toEqual([0, 0])
  })
})

describe("what is ahead", () => {
  it("is a turn of each account for one without a queue, its share's worth for one with", () => {
    const queue = queueOf([...many("a", 30), ...many("b", 10)])
    expect([queue.ahead("c"), queue.ahead("b"), queue.ahead("a")]).toEqual([2, 20, 40])
  })

  it("is over the share for who waits for more than others", () => {
    const queue = queueOf([...many("a", 30), ...many("b", 10)])
    expect([queue.isOverShare("a"), queue.isOverShare("b"), queue.isOverShare("c")]).toEqual([true, false, false])
    expect(queueOf(many("a", 30)).isOverShare("a")).toBe(false)
  })
})

/** Which accounts ask only now and then. Time is an argument. */
import { expect, it } from "vitest"
import { CalmAccounts } from "@muniment/server/admission/Turnstile"

/** The answers to requests of `account`, one every so many milliseconds. */
const asking = (calm: CalmAccounts, account: string, count: number, everyMillis: number, fromMillis = 0, served = 0) =>
  Array.from({ length: count }, (_, at) => calm.add(account, 1, fromMillis + at * everyMillis, served))

it("an account that asks less than a hundred times a second is calm", () => {
  expect(asking(new CalmAccounts(), "a", 500, 11)).not.toContain(false)
})

it("one that asks less than a quarter of what is served is calm, and no more", () => {
  expect(asking(new CalmAccounts(), "a", 500, 2.1, 0, 2_000)).not.toContain(false)
  expect(asking(new CalmAccounts(), "a", 500, 1.5, 0, 2_000).slice(200)).not.toContain(true)
})

it("a crowd is not, whatever its account did before, and is again soon after", () => {
  const calm = new CalmAccounts()
  asking(calm, "a", 100, 20)
  expect(asking(calm, "a", 400, 2.5, 2_000).slice(20)).not.toContain(true)
  expect(calm.add("a", 1, 3_100, 0)).toBe(false)
  expect(calm.add("a", 1, 3_200, 0)).toBe(true)
})

it("each account is judged by itself, and by the units that it asks for", () => {
  const calm = new CalmAccounts()
  asking(calm, "crowd", 1_000, 1)
  expect([calm.add("crowd", 1, 1_000, 0), calm.add("quiet", 1, 1_000, 0)]).toEqual([false, true])
  expect([calm.add("batches", 10, 1_000, 0), calm.add("batches", 10, 1_000, 0)]).toEqual([true, false])
})

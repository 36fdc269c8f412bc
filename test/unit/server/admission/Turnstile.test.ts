/** When work begins within a turn of the event loop. */
import { expect, it } from "vitest"
import { Turnstile } from "@muniment/server/admission/Turnstile"

it("begins some milliseconds of work, then lets the loop look at its sockets", () => {
  let nowMillis = 0
  const rounds: Array<() => void> = []
  const turnstile = new Turnstile(
    () => nowMillis,
    (run) => void rounds.push(run)
  )
  const begun: Array<number> = []
  for (let work = 0; work < 6; work++) {
    turnstile.pass(() => {
      begun.push(work)
      nowMillis += 2
    })
  }
  expect([begun, rounds.length]).toEqual([[], 1])
  rounds.shift()!()
  expect([begun, rounds.length]).toEqual([[0, 1], 1])
  turnstile.pass(() => begun.push(6))
  rounds.shift()!()
  rounds.shift()!()
  expect([begun, rounds.length]).toEqual([[0, 1, 2, 3, 4, 5], 1])
  rounds.shift()!()
  expect([begun.at(-1), rounds.length]).toEqual([6, 0])
})

it("begins at least one, however long it takes", () => {
  let nowMillis = 0
  const rounds: Array<() => void> = []
  const turnstile = new Turnstile(
    () => (nowMillis += 10),
    (run) => void rounds.push(run)
  )
  let begun = 0
  turnstile.pass(() => (begun += 1))
  rounds.shift()!()
  expect(begun).toBe(1)
})

it("lets turns go by without work while each brings a connection, but not for ever", () => {
  const rounds: Array<() => void> = []
  const turnstile = new Turnstile(
    () => 0,
    (run) => void rounds.push(run)
  )
  let begun = 0
  const turn = (hasConnection: boolean): number => {
    if (hasConnection) turnstile.connected()
    rounds.shift()!()
    return begun
  }
  turnstile.pass(() => (begun += 1))
  expect([turn(true), turn(true), turn(false)]).toEqual([0, 0, 1])
  turnstile.pass(() => (begun += 1))
  let turns = 1
  while (turn(true) === 1) turns += 1
  expect(turns).toBeGreaterThan(8)
  expect(turns).toBeLessThan(100)
})

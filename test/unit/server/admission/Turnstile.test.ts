/** When work begins within a turn of the event loop. */
import { expect, it } from "vitest"
import { Turnstile } from "@muniment/server/admission/Turnstile"

/** Callbacks of the turns: each turn runs those that were there at its beginning, and what they have put off. */
class Loop {
  nowMillis = 0
  readonly #callbacks: Array<() => void> = []
  readonly #putOff: Array<() => void> = []
  readonly turnstile = new Turnstile(
    () => this.nowMillis,
    (run) => void this.#callbacks.push(run)
  )

  putOff(run: () => void): void {
    this.#putOff.push(run)
  }

  turn(): void {
    for (const run of this.#callbacks.splice(0)) {
      run()
      for (const later of this.#putOff.splice(0)) later()
    }
  }

  get isIdle(): boolean {
    return this.#callbacks.length === 0
  }
}

it("begins some milliseconds of work, then lets the loop look at its sockets", () => {
  const loop = new Loop()
  const begun: Array<number> = []
  for (let work = 0; work < 6; work++) {
    loop.turnstile.pass(() => {
      begun.push(work)
      // What a request puts off, such as the reading of its body, counts as well.
      loop.putOff(() => (loop.nowMillis += 2))
    })
  }
  const turns: Array<number> = []
  while (!loop.isIdle) {
    const before = begun.length
    loop.turn()
    if (begun.length > before) turns.push(begun.length - before)
  }
  expect([turns, begun]).toEqual([
    [2, 2, 2],
    [0, 1, 2, 3, 4, 5]
  ])
})

it("begins at least one, however long it takes", () => {
  const loop = new Loop()
  const begun: Array<number> = []
  for (let work = 0; work < 2; work++) {
    loop.turnstile.pass(() => {
      begun.push(work)
      loop.nowMillis += 1_000
    })
  }
  while (!loop.isIdle) loop.turn()
  expect(begun).toEqual([0, 1])
})

it("lets what goes ahead pass within a turn, before a crowd's work and beside its new connections", () => {
  const loop = new Loop()
  const begun: Array<string> = []
  for (const name of ["crowd", "crowd"]) {
    loop.turnstile.pass(() => {
      begun.push(name)
      loop.nowMillis += 1_000
    })
  }
  loop.turnstile.connected()
  loop.turnstile.pass(() => begun.push("ahead"), "ahead")
  loop.turn()
  expect(begun).toEqual(["ahead"])
  while (!loop.isIdle) loop.turn()
  expect(begun).toEqual(["ahead", "crowd", "crowd"])
})

it("lets what goes ahead pass within a slice, before the rest of it", () => {
  const loop = new Loop()
  const begun: Array<string> = []
  for (let count = 0; count < 2; count++) loop.turnstile.pass(() => begun.push("crowd"))
  // Arrives once the slice's callbacks wait already.
  loop.turn()
  loop.turnstile.pass(() => begun.push("ahead"), "ahead")
  while (!loop.isIdle) loop.turn()
  expect(begun).toEqual(["ahead", "crowd", "crowd"])
})

it("lets turns go by without work while each brings a connection, but not for ever", () => {
  const loop = new Loop()
  let begun = 0
  const turn = (hasConnection: boolean): number => {
    if (hasConnection) loop.turnstile.connected()
    loop.turn()
    return begun
  }
  loop.turnstile.pass(() => (begun += 1))
  expect([turn(true), turn(true), turn(true)]).toEqual([0, 0, 0])
  while (!loop.isIdle) turn(false)
  expect(begun).toBe(1)
  loop.turnstile.pass(() => (begun += 1))
  let turns = 1
  while (turn(true) === 1) turns += 1
  expect(turns).toBeGreaterThan(8)
  expect(turns).toBeLessThan(100)
})

it("begins what a calm account has waited for before the others' work", () => {
  const loop = new Loop()
  const begun: Array<string> = []
  loop.turnstile.pass(() => begun.push("crowd"))
  loop.turnstile.pass(() => begun.push("calm"), "first")
  while (!loop.isIdle) loop.turn()
  expect(begun).toEqual(["calm", "crowd"])
})

it("works for as long as the turns before have taken, and lets few long turns go by", () => {
  const loop = new Loop()
  const turnMillis = 20
  let begun = 0
  for (let work = 0; work < 200; work += 1) {
    loop.turnstile.pass(() => {
      begun += 1
      loop.nowMillis += 2
    })
  }
  const slices: Array<number> = []
  for (let turn = 0; turn < 8; turn += 1) {
    // Each brings a connection, and much to read.
    loop.turnstile.connected()
    loop.nowMillis += turnMillis
    const before = begun
    loop.turn()
    if (begun > before) slices.push(begun - before)
  }
  // Two turns of 20 ms, then 40 ms of work.
  expect(slices).toEqual([20, 20, 20, 20])
})

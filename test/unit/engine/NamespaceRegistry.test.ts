/**
 * The registry never opens a namespace twice. A namespace here is a lock that reports when it is taken while held;
 * opening and closing take time, under TestClock.
 */
import { describe, expect } from "vitest"
import { Deferred, Effect, Exit, Fiber, Scope } from "effect"
import { TestClock } from "effect/testing"
import fc from "fast-check"
import { makeNamespaceRegistry } from "@muniment/engine/host/NamespaceRegistry"
import { it } from "../../support/it.ts"

interface Key {
  readonly tag: string
}

const keyOf = (tag: string): Key => ({ tag })
const a = keyOf("a")
const b = keyOf("b")
const c = keyOf("c")

const pauseFor = (millis: number) => (millis === 0 ? Effect.void : Effect.sleep(millis))

/** Simulated files: how often each was opened, which are held, and every violation. */
class Files {
  readonly held = new Set<string>()
  readonly opened: Array<string> = []
  readonly breaches: Array<string> = []
  openMillis = 0
  closeMillis = 0
  failures = 0

  readonly open = (key: Key): Effect.Effect<string, "cannot open", Scope.Scope> =>
    Effect.gen({ self: this }, function* () {
      this.opened.push(key.tag)
      if (this.held.has(key.tag)) this.breaches.push(`${key.tag} has two owners`)
      this.held.add(key.tag)
      yield* Effect.addFinalizer(() =>
        Effect.andThen(
          pauseFor(this.closeMillis),
          Effect.sync(() => this.held.delete(key.tag))
        )
      )
      yield* pauseFor(this.openMillis)
      if (this.failures > 0) {
        this.failures--
        return yield* Effect.fail("cannot open" as const)
      }
      return key.tag
    })
}

const registryOf = (files: Files, openMax: number) =>
  makeNamespaceRegistry<Key, string, "cannot open">({ open: files.open, openMax, closeBudgetMillis: 5_000 })

const tags = (keys: ReadonlyArray<Key>) => keys.map(({ tag }) => tag)

describe("the registry", () => {
  it.effect("opens once for concurrent callers, and keeps it open", function* () {
    const files = new Files()
    files.openMillis = 10
    const registry = yield* registryOf(files, 2)
    const uses = yield* Effect.forkChild(
      Effect.all([registry.with(a, Effect.succeed), registry.with(a, Effect.succeed)], { concurrency: "unbounded" })
    )
    yield* TestClock.adjust(10)
    expect(yield* Fiber.join(uses)).toEqual(["a", "a"])
    yield* registry.with(a, Effect.succeed)
    expect(files.opened).toEqual(["a"])
  })

  it.effect("peeks at an open namespace without holding it, which counts as a use", function* () {
    const files = new Files()
    files.openMillis = 10
    files.closeMillis = 10
    const registry = yield* registryOf(files, 2)
    const opening = yield* Effect.forkChild(
      Effect.all([registry.with(a, Effect.succeed), registry.with(b, Effect.succeed)], { concurrency: "unbounded" })
    )
    yield* Effect.yieldNow
    expect(registry.peek(a, 0)).toBeUndefined()
    yield* TestClock.adjust(10)
    yield* Fiber.join(opening)
    expect(registry.peek(a, 10)).toBe("a")
    const third = yield* Effect.forkChild(registry.with(c, Effect.succeed))
    yield* TestClock.adjust(5)
    expect(registry.peek(b, 15)).toBeUndefined()
    expect(registry.peek(a, 15)).toBe("a")
    yield* TestClock.adjust(20)
    yield* Fiber.join(third)
    expect(tags(registry.openKeys()).toSorted()).toEqual(["a", "c"])
    files.closeMillis = 0
  })

  it.effect("closes the least recently used one to make room", function* () {
    const files = new Files()
    const registry = yield* registryOf(files, 2)
    for (const key of [a, b, a, c]) yield* registry.with(key, Effect.succeed)
    expect(tags(registry.openKeys())).toEqual(["a", "c"])
  })

  it.effect("lets an open wait while all places are in use", function* () {
    const files = new Files()
    const registry = yield* registryOf(files, 1)
    const release = yield* Deferred.make<void>()
    const using = yield* Effect.forkChild(registry.with(a, () => Deferred.await(release)))
    yield* Effect.yieldNow
    const waiting = yield* Effect.forkChild(registry.with(b, Effect.succeed))
    yield* Effect.yieldNow
    expect(files.opened).toEqual(["a"])
    yield* Deferred.succeed(release, undefined)
    expect(yield* Fiber.join(waiting)).toBe("b")
    yield* Fiber.join(using)
    expect([...files.held]).toEqual(["b"])
  })

  it.effect("lets the next open of a file wait until the last close has ended", function* () {
    const files = new Files()
    files.closeMillis = 100
    const registry = yield* registryOf(files, 2)
    yield* registry.with(a, Effect.succeed)
    const closing = yield* Effect.forkChild(registry.retire(a))
    yield* TestClock.adjust(50)
    const again = yield* Effect.forkChild(registry.with(a, Effect.succeed))
    yield* TestClock.adjust(49)
    expect(files.opened).toEqual(["a"])
    yield* TestClock.adjust(1)
    expect(yield* Fiber.join(again)).toBe("a")
    yield* Fiber.join(closing)
    expect(files.opened).toEqual(["a", "a"])
    expect(files.breaches).toEqual([])
    files.closeMillis = 0
  })

  it.effect("does not remember a failed open, and frees its place", function* () {
    const files = new Files()
    files.failures = 1
    const registry = yield* registryOf(files, 1)
    expect(yield* Effect.flip(registry.with(a, Effect.succeed))).toBe("cannot open")
    expect(registry.openKeys()).toEqual([])
    expect(yield* registry.with(b, Effect.succeed)).toBe("b")
    expect(yield* registry.with(a, Effect.succeed)).toBe("a")
  })

  it.effect("closes a retired one after its last user is done", function* () {
    const files = new Files()
    const registry = yield* registryOf(files, 2)
    const release = yield* Deferred.make<string>()
    const using = yield* Effect.forkChild(registry.with(a, () => Deferred.await(release)))
    yield* Effect.yieldNow
    yield* registry.retire(a)
    expect([...files.held]).toEqual(["a"])
    const next = yield* Effect.forkChild(registry.with(a, Effect.succeed))
    yield* Effect.yieldNow
    expect(files.opened).toEqual(["a"])
    yield* Deferred.succeed(release, "used to the end")
    expect(yield* Fiber.join(using)).toBe("used to the end")
    expect(yield* Fiber.join(next)).toBe("a")
    expect(files.opened).toEqual(["a", "a"])
  })

  it.effect("closes what is idle for long enough, and nothing that is in use", function* () {
    const files = new Files()
    const registry = yield* registryOf(files, 3)
    const using = yield* Effect.forkChild(registry.with(a, () => Effect.never))
    yield* registry.with(b, Effect.succeed)
    yield* TestClock.adjust(1_000)
    yield* registry.with(c, Effect.succeed)
    yield* registry.closeIdle(1_000)
    expect(tags(registry.openKeys())).toEqual(["a", "c"])
    yield* Fiber.interrupt(using)
    yield* registry.closeIdle(1_001)
    expect(registry.openKeys()).toEqual([])
  })

  it.effect("lets housekeeping look at what is open, without opening it or keeping it from idling", function* () {
    const files = new Files()
    const registry = yield* registryOf(files, 3)
    expect(yield* registry.whileOpen(a, Effect.succeed)).toBeUndefined()
    yield* registry.with(a, Effect.succeed)
    yield* TestClock.adjust(1_000)
    expect(yield* registry.whileOpen(a, Effect.succeed)).toBe("a")
    yield* registry.closeIdle(1_000)
    expect(registry.openKeys()).toEqual([])
    expect(files.opened).toEqual(["a"])
  })

  it.effect("releases an interrupted user, while it waits and while it uses", function* () {
    const files = new Files()
    files.openMillis = 10
    const registry = yield* registryOf(files, 1)
    const opening = yield* Effect.forkChild(registry.with(a, () => Effect.never))
    const joining = yield* Effect.forkChild(registry.with(a, () => Effect.never))
    yield* Effect.yieldNow
    const leaving = yield* Effect.forkChild(Fiber.interruptAll([opening, joining]))
    yield* TestClock.adjust(10)
    yield* Fiber.join(leaving)
    const next = yield* Effect.forkChild(registry.with(b, Effect.succeed))
    yield* TestClock.adjust(10)
    expect(yield* Fiber.join(next)).toBe("b")
    expect([...files.held]).toEqual(["b"])
  })
})

describe("the end of the registry", () => {
  it.effect("closes everything, and waits for what is in use or already closing", function* () {
    const files = new Files()
    files.closeMillis = 100
    const scope = yield* Scope.make()
    const registry = yield* Scope.provide(registryOf(files, 4), scope)
    const release = yield* Deferred.make<void>()
    yield* registry.with(a, Effect.succeed)
    yield* registry.with(b, Effect.succeed)
    yield* Effect.forkChild(registry.retire(b))
    const using = yield* Effect.forkChild(registry.with(c, () => Deferred.await(release)))
    yield* Effect.yieldNow
    const ending = yield* Effect.forkChild(Scope.close(scope, Exit.void))
    yield* TestClock.adjust(250)
    yield* Deferred.succeed(release, undefined)
    yield* TestClock.adjust(250)
    yield* Fiber.join(ending)
    yield* Fiber.join(using)
    expect([...files.held]).toEqual([])
  })

  it.effect("does not wait longer than its budget, and closes what is idle by then", function* () {
    const files = new Files()
    const scope = yield* Scope.make()
    const registry = yield* Scope.provide(registryOf(files, 4), scope)
    const using = yield* Effect.forkChild(registry.with(a, () => Effect.never))
    yield* Effect.yieldNow
    yield* registry.with(b, Effect.succeed)
    const ending = yield* Effect.forkChild(Scope.close(scope, Exit.void))
    yield* TestClock.adjust(4_999)
    expect(ending.pollUnsafe()).toBeUndefined()
    yield* TestClock.adjust(1)
    yield* Fiber.join(ending)
    expect([...files.held]).toEqual(["a"])
    yield* Fiber.interrupt(using)
  })
})

type Move =
  | { readonly do: "use"; readonly tag: string; readonly millis: number; readonly leavesAfter: number | undefined }
  | { readonly do: "retire"; readonly tag: string }
  | { readonly do: "tend"; readonly tag: string; readonly millis: number }
  | { readonly do: "closeIdle"; readonly age: number }
  | { readonly do: "break" }

const tag = fc.constantFrom("a", "b", "c", "d", "e")
const millis = fc.nat(12)
const move: fc.Arbitrary<Move> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("use" as const),
      tag,
      millis,
      leavesAfter: fc.option(fc.nat(20), { nil: undefined })
    })
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("retire" as const), tag }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("tend" as const), tag, millis }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("closeIdle" as const), age: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.constant({ do: "break" as const }) }
)

const scenario = fc.record({
  openMax: fc.integer({ min: 1, max: 3 }),
  openMillis: fc.nat(8),
  closeMillis: fc.nat(8),
  moves: fc.array(fc.record({ move, pause: fc.nat(4) }), { minLength: 1, maxLength: 40 })
})

const play = ({ openMax, openMillis, closeMillis, moves }: typeof scenario extends fc.Arbitrary<infer A> ? A : never) =>
  Effect.gen(function* () {
    const files = new Files()
    files.openMillis = openMillis
    files.closeMillis = closeMillis
    let now = 0
    const registry = yield* registryOf(files, openMax)
    const use = (tag: string, millis: number) =>
      registry.with(keyOf(tag), (opened) =>
        Effect.gen(function* () {
          if (!files.held.has(tag) || opened !== tag) files.breaches.push(`${tag} is used while it is closed`)
          if (files.held.size > openMax) files.breaches.push(`${files.held.size} are open`)
          yield* Effect.sleep(millis)
          if (!files.held.has(tag)) files.breaches.push(`${tag} was closed while it was used`)
        })
      )
    const effectOf = (step: Move): Effect.Effect<unknown, "cannot open"> => {
      switch (step.do) {
        case "use":
          return step.leavesAfter === undefined
            ? use(step.tag, step.millis)
            : Effect.timeoutOrElse(use(step.tag, step.millis), {
                duration: step.leavesAfter,
                orElse: () => Effect.void
              })
        case "retire":
          return registry.retire(keyOf(step.tag))
        case "tend":
          return registry.whileOpen(keyOf(step.tag), () => Effect.sleep(step.millis))
        case "closeIdle":
          return registry.closeIdle(now - step.age)
        case "break":
          return Effect.sync(() => void files.failures++)
      }
    }
    const fibers: Array<Fiber.Fiber<unknown, "cannot open">> = []
    for (const { move, pause } of moves) {
      fibers.push(yield* Effect.forkChild(effectOf(move), { startImmediately: true }))
      now += pause
      yield* TestClock.adjust(pause)
    }
    // Every call ends.
    for (let waited = 0; waited < 5_000 && fibers.some((fiber) => fiber.pollUnsafe() === undefined); waited += 20) {
      yield* TestClock.adjust(20)
    }
    const stuck = fibers.filter((fiber) => fiber.pollUnsafe() === undefined).length
    // From here on the clock does not advance.
    files.closeMillis = 0
    return { breaches: files.breaches, stuck, open: registry.openKeys().length, held: files.held.size }
  }).pipe(Effect.scoped, Effect.provide(TestClock.layer()))

it("any interleaving of uses, retirements, failures and interruptions has at most one owner per file, no more files than places, and leaves no caller waiting", () =>
  fc.assert(
    fc.asyncProperty(scenario, async (made) => {
      const { breaches, stuck, open, held } = await Effect.runPromise(play(made))
      expect({ breaches, stuck }).toEqual({ breaches: [], stuck: 0 })
      expect(held).toBe(open)
    }),
    { numRuns: 2_000 }
  ))

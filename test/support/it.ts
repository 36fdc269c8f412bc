/**
 * Vitest's `it` with bodies of Effect: `it.effect("name", function* () { ... })`. Each body has a scope that ends with
 * the test; `effect` runs on the test's clock, `live` on the real one.
 */
import { it as methods, type Vitest } from "@effect/vitest"
import { Effect, Layer, type Scope } from "effect"
import { it as plain, type TestAPI, type TestContext, type TestOptions } from "vitest"

/** What a test does: an effect, or the steps of one. */
export type Steps<R = never, A = unknown> =
  | Effect.Effect<A, unknown, R>
  | Generator<Effect.Effect<unknown, unknown, R>, A, never>

export const effectOf = <R, A>(steps: Steps<R, A>): Effect.Effect<A, unknown, R> =>
  Effect.isEffect(steps) ? steps : Effect.gen(() => steps)

type Register<R, Args extends Array<unknown>, Body> = (
  name: string,
  body: (...args: Args) => Body,
  options?: number | TestOptions
) => R

type Test<R, Args extends Array<unknown> = [TestContext]> = Register<void, Args, Steps<R>>

interface Tester<R> extends Test<R> {
  readonly each: <T>(cases: ReadonlyArray<T>) => Test<R, [T, TestContext]>
  readonly runIf: (condition: unknown) => Test<R>
  readonly skipIf: (condition: unknown) => Test<R>
}

const testerOf = <R>(
  tester: Vitest.Tester<Scope.Scope>,
  layerOf: () => Layer.Layer<R, unknown>
): Tester<R | Scope.Scope> => {
  const taking =
    <Args extends Array<unknown>>(
      register: Register<void, Args, Effect.Effect<unknown, unknown, Scope.Scope>>
    ): Test<R | Scope.Scope, Args> =>
    (name, body, options) =>
      register(name, (...args) => Effect.provide(Effect.scoped(effectOf(body(...args))), layerOf()), options)
  return Object.assign(taking<[TestContext]>(tester), {
    each: <T>(cases: ReadonlyArray<T>) => taking<[T, TestContext]>(tester.each(cases)),
    runIf: (condition: unknown) => taking<[TestContext]>(tester.runIf(condition)),
    skipIf: (condition: unknown) => taking<[TestContext]>(tester.skipIf(condition))
  })
}

/** Tests whose bodies have what the layer makes, anew for each of them. */
export const itWith = <R>(layerOf: () => Layer.Layer<R, unknown>) => ({
  effect: testerOf(methods.effect, layerOf),
  live: testerOf(methods.live, layerOf)
})

const testers = itWith(() => Layer.empty)

export const it: TestAPI & typeof testers = new Proxy(plain as TestAPI & typeof testers, {
  get: (target, name, receiver) =>
    Object.hasOwn(testers, name) ? Reflect.get(testers, name) : Reflect.get(target, name, receiver)
})

/**
 * `Effect.fn` for what runs on every request: a span of this name where a tracer is installed, nothing otherwise. Without a
 * tracer `Effect.fn` still makes an error for each call, a span without a receiver and two contexts: 13 to 17 % of the
 * processor time of a request.
 */
import { Effect } from "effect"

export const traced = (name: string): Effect.fn.Untraced => {
  const make = (...body: Parameters<Effect.fn.Untraced>) => {
    const plain = Effect.fnUntraced(...body) as (...given: ReadonlyArray<unknown>) => Effect.Effect<unknown>
    return (...given: ReadonlyArray<unknown>) =>
      Effect.withFiber((fiber) => {
        const effect = plain(...given)
        return fiber.cache.tracer === undefined ? effect : Effect.withSpan(effect, name)
      })
  }
  return make as Effect.fn.Untraced
}

/** The same of an effect. Without its place in the code, whose search costs more than the span. */
export const spanned = <A, E, R>(effect: Effect.Effect<A, E, R>, name: string): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) =>
    fiber.cache.tracer === undefined ? effect : Effect.withSpan(effect, name, { captureStackTrace: false })
  )

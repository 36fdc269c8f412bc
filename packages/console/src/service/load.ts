/** State of what a page has requested: loading, there, or failed; a newer request ends the one before it. */
import { useEffect, useState } from "preact/hooks"
import { ApiError } from "./api.ts"
import { every } from "./browser.ts"

export type Loaded<A> =
  | { readonly state: "loading"; readonly value?: A }
  | { readonly state: "ready"; readonly value: A }
  | { readonly state: "failed"; readonly error: ApiError; readonly value?: A }

interface Loader<A> {
  readonly loaded: Loaded<A>
  readonly reload: () => void
}

/** Asks anew whenever an entry of `inputs` changes; shows the earlier value meanwhile. */
export const useLoad = <A>(
  ask: (abort: AbortSignal) => Promise<A>,
  inputs: ReadonlyArray<unknown>,
  everyMillis?: number
): Loader<A> => {
  const [loaded, show] = useState<Loaded<A>>({ state: "loading" })
  const [round, next] = useState(0)
  useEffect(() => {
    const controller = new AbortController()
    show((before) => (before.value === undefined ? { state: "loading" } : { state: "loading", value: before.value }))
    const run = (): void => {
      ask(controller.signal).then(
        (value) => {
          if (!controller.signal.aborted) show({ state: "ready", value })
        },
        (cause: unknown) => {
          if (controller.signal.aborted) return
          const error = asApiError(cause)
          show((before) =>
            before.value === undefined ? { state: "failed", error } : { state: "failed", error, value: before.value }
          )
        }
      )
    }
    run()
    const end = everyMillis === undefined ? () => undefined : every(everyMillis, run)
    return () => {
      controller.abort()
      end()
    }
  }, [...inputs, round])
  return { loaded, reload: () => next((count) => count + 1) }
}

export const asApiError = (cause: unknown): ApiError =>
  cause instanceof ApiError
    ? cause
    : new ApiError(0, { error: cause instanceof Error ? cause.message : String(cause), code: "page_failed" })

/**
 * What runtimes have or lack: the environment, and web interfaces that Node 18 and older browsers have not, a global
 * `crypto` and `AbortSignal.any`. Everywhere else the runtime's own are used.
 */

/** Not written into the import, so that bundlers for browsers do not look for it. */
const nodeCrypto = "node:crypto"

export const webCrypto = async (): Promise<WebCrypto> =>
  globalThis.crypto ?? ((await import(/* @vite-ignore */ /* webpackIgnore: true */ nodeCrypto)) as NodeCrypto).webcrypto

type WebCrypto = typeof globalThis.crypto

interface NodeCrypto {
  readonly webcrypto: WebCrypto
}

/** A variable of the environment; runtimes without one, such as browsers, have none. */
export const environment = (name: string): string | undefined =>
  (globalThis as { readonly process?: { readonly env?: Readonly<Record<string, string | undefined>> } }).process?.env?.[
    name
  ]

/** Aborted as soon as one of `signals` is, with its reason. Call `release` when nothing waits for it any more. */
export const firstOf = (
  signals: ReadonlyArray<AbortSignal>
): { readonly signal: AbortSignal; readonly release: () => void } => {
  const controller = new AbortController()
  const listeners = signals.map((signal) => ({ signal, abort: () => controller.abort(signal.reason) }))
  for (const { signal, abort } of listeners) {
    if (signal.aborted) abort()
    else signal.addEventListener("abort", abort, { once: true })
  }
  return {
    signal: controller.signal,
    release: () => {
      for (const { signal, abort } of listeners) signal.removeEventListener("abort", abort)
    }
  }
}

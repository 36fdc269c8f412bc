/** What only the browser knows: the time, timers, random names. The one module of the console that asks for them. */

export const now = (): number => Date.now()

/** Ends with the function that it gives. */
export const after = (millis: number, run: () => void): (() => void) => {
  const timer = setTimeout(run, millis)
  return () => clearTimeout(timer)
}

/** While the page is looked at; ends with the function that it gives. */
export const every = (millis: number, run: () => void): (() => void) => {
  const timer = setInterval(() => document.visibilityState === "visible" && run(), millis)
  return () => clearInterval(timer)
}

/** For an `Idempotency-Key`. */
export const newKey = (): string => crypto.randomUUID()

/** Stands in for `@muniment/worker/WorkerEntry`: gives the simulator the function that an entry serves. */

export type Answer = (request: unknown) => unknown

let starting: { readonly settings: unknown; answer: Answer | undefined } | undefined
let lives = 0

export const settingsOf = (): unknown => starting?.settings

export const serve = (answer: Answer): void => {
  if (starting !== undefined) starting.answer = answer
}

/** A module of its own for every start, as a thread has. */
export const startEntry = async (entry: URL, settings: unknown): Promise<Answer> => {
  const started: NonNullable<typeof starting> = { settings, answer: undefined }
  starting = started
  lives += 1
  await import(`${entry.href}?life=${lives}`)
  starting = undefined
  if (started.answer === undefined) throw new Error(`${entry.href} serves nothing`)
  return started.answer
}

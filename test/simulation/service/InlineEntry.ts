/** Stands in for `@muniment/worker/WorkerEntry`: gives the simulator the function that an entry serves. */

export type Answer = (request: unknown) => unknown

let starting: { readonly settings: unknown; answer: Answer | undefined } | undefined

export const settingsOf = (): unknown => starting?.settings

export const serve = (answer: Answer): void => {
  if (starting !== undefined) starting.answer = answer
}

/** With a state of its own for every start, as a thread has: `wiring.ts` makes a function of the entry. */
export const startEntry = async (entry: URL, settings: unknown): Promise<Answer> => {
  const { start } = (await import(`${entry.href}?start`)) as { readonly start: () => void }
  const started: NonNullable<typeof starting> = { settings, answer: undefined }
  starting = started
  start()
  starting = undefined
  if (started.answer === undefined) throw new Error(`${entry.href} serves nothing`)
  return started.answer
}

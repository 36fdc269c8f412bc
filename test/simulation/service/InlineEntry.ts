/** Stands in for `@muniment/worker/WorkerEntry`: gives the simulator the function that an entry serves. */

export type Answer = (request: unknown) => unknown

let starting: { readonly settings: unknown; answer: Answer | undefined } | undefined

export const settingsOf = (): unknown => starting?.settings

export const serve = (answer: Answer): void => {
  if (starting !== undefined) starting.answer = answer
}

interface Startable {
  readonly start: () => void
}

/** By address: each `import` looks for its file anew. */
const entries = new Map<string, Startable>()

/** With a state of its own for every start, as a thread has: `wiring.ts` makes a function of the entry. */
export const startEntry = async ({ href }: URL, settings: unknown): Promise<Answer> => {
  const entry = entries.get(href) ?? ((await import(`${href}?start`)) as Startable)
  entries.set(href, entry)
  const started: NonNullable<typeof starting> = { settings, answer: undefined }
  starting = started
  entry.start()
  starting = undefined
  if (started.answer === undefined) throw new Error(`${href} serves nothing`)
  return started.answer
}

/** Shared parts of the command lines of the bench programs. */

/** `--help`: prints how a program is called, and ends it. */
export const answerHelp = (usage: string): void => {
  if (!process.argv.includes("--help")) return
  process.stdout.write(`${usage}\n`)
  process.exit(0)
}

/** The number of an option; throws with the option and what it takes. */
export const wholeNumber = (name: string, text: string, min = 1, max = Number.MAX_SAFE_INTEGER): number => {
  const value = Number(text)
  if (!/^\d+$/.test(text) || value < min || value > max) {
    const upTo = max === Number.MAX_SAFE_INTEGER ? "" : ` to ${max}`
    throw new Error(`--${name} takes a whole number from ${min}${upTo}, not "${text}"`)
  }
  return value
}

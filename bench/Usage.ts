/** `--help` of the bench programs: prints how a program is called, and ends it. */
export const answerHelp = (usage: string): void => {
  if (!process.argv.includes("--help")) return
  process.stdout.write(`${usage}\n`)
  process.exit(0)
}

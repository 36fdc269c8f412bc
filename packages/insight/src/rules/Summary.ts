/** Summary for the next extraction: the user's name and the people mentioned, one line each. */
import type { People } from "./People.ts"

const summaryLengthMax = 2_000

export const peopleOfSummary = (summary: string, people: People): void => {
  for (const line of summary.slice(0, summaryLengthMax).split("\n")) {
    const match = /^user's ([\p{L} -]{1,40}): (\p{L}[\p{L}' -]{0,63})$/u.exec(line.trim())
    if (match?.[1] === undefined || match[2] === undefined) continue
    if (match[1] === "name") people.speakerName = match[2]
    else people.meet(match[2], match[1])
  }
}

/** Keeps other lines of the earlier summary, oldest first, while there is room. */
export const nextSummary = (earlier: string | undefined, people: People): string | undefined => {
  const own = [
    ...(people.speakerName === undefined ? [] : [`user's name: ${people.speakerName}`]),
    ...people
      .all()
      .flatMap(({ name, relation }) =>
        name === undefined || relation === undefined ? [] : [`user's ${relation}: ${name}`]
      )
  ]
  const kept = (earlier ?? "")
    .split("\n")
    .filter((line) => line.trim() !== "" && !line.startsWith("user's name:") && !own.includes(line))
  const lines: Array<string> = []
  for (const line of [...own, ...kept]) {
    if (lines.join("\n").length + line.length + 1 > summaryLengthMax) break
    lines.push(line)
  }
  return lines.length === 0 ? undefined : lines.join("\n")
}

/** Reads a prompt as a model reads it: what stands in its fenced sections, and what stands around them. */

/** The JSON values of a fenced section, as a model reads them. */
export const sectionOf = (prompt: string, name: string): ReadonlyArray<unknown> => {
  const code = codeOf(prompt)
  const [, body] = prompt.split(`BEGIN ${name} ${code}\n`)
  const lines = body?.split(`END ${name} ${code}`)[0]?.trimEnd() ?? ""
  return lines === "" ? [] : lines.split("\n").map((line): unknown => JSON.parse(line))
}

export const codeOf = (prompt: string): string => /^The code of this request is (\S+)\./.exec(prompt)?.[1] ?? ""

/** What stands outside of all fenced sections. */
export const outsideOf = (prompt: string): string => {
  const code = codeOf(prompt)
  return prompt
    .split("\n")
    .reduce<{ readonly kept: ReadonlyArray<string>; readonly inside: boolean }>(
      ({ kept, inside }, line) => {
        if (line.startsWith("BEGIN ") && line.endsWith(` ${code}`)) return { kept: [...kept, line], inside: true }
        if (line.startsWith("END ") && line.endsWith(` ${code}`)) return { kept: [...kept, line], inside: false }
        return inside ? { kept, inside } : { kept: [...kept, line], inside }
      },
      { kept: [], inside: false }
    )
    .kept.join("\n")
    .replaceAll(code, "<code>")
}

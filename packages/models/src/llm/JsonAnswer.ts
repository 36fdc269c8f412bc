/**
 * Finds the JSON value in a model's text: alone, in a code fence, after its reasoning or between sentences. Repairs
 * nothing: without a value that parses, the text is returned unchanged.
 */

/** Values in braces that are tried; prose may contain braces too. */
const startsTriedMax = 8

/** Some templates write the opening tag into the prompt, so that the text begins inside of the thoughts. */
const thought = /^\s*(?:<think(?:ing)?>|(?![\s{[`]))[\s\S]*?<\/think(?:ing)?>/
const fence = "```"

export const jsonIn = (written: string): string => {
  const text = written.replace(thought, "").trim()
  if (isJson(text)) return text
  const fenced = insideFence(text)
  if (fenced !== undefined && isJson(fenced)) return fenced
  let from = 0
  for (let tried = 0; tried < startsTriedMax; tried += 1) {
    const start = text.slice(from).search(/[[{]/)
    if (start < 0) return text
    const end = endOfValue(text, from + start)
    // An unclosed value was cut off: a complete value inside it is not the answer.
    if (end === undefined) return text
    const value = text.slice(from + start, end)
    if (isJson(value)) return value
    from = end
  }
  return text
}

/** Whether a JSON value can be found in the text. */
export const holdsJson = (written: string): boolean => isJson(jsonIn(written))

/** Thoughts before the answer, or in its place; an empty pair of tags holds none. */
export const beginsWithThought = (written: string): boolean => {
  const [thoughts = ""] = thought.exec(written) ?? /^\s*<think[\s\S]*/.exec(written) ?? []
  return thoughts.replaceAll(/<\/?think(?:ing)?>/g, "").trim() !== ""
}

/** Searched without a regular expression: some models write blank lines until they are cut off. */
const insideFence = (text: string): string | undefined => {
  const open = text.indexOf(fence)
  const start = open < 0 ? -1 : text.indexOf("\n", open)
  const end = start < 0 ? -1 : text.indexOf(fence, start)
  return end < 0 ? undefined : text.slice(start, end).trim()
}

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Index after the bracket that closes the one at `start`; brackets within strings do not count. */
const endOfValue = (text: string, start: number): number | undefined => {
  let depth = 0
  let isInString = false
  for (let index = start; index < text.length; index += 1) {
    const character = text[index]
    if (isInString) {
      if (character === "\\") index += 1
      else if (character === '"') isInString = false
    } else if (character === '"') isInString = true
    else if (character === "{" || character === "[") depth += 1
    else if (character === "}" || character === "]") {
      depth -= 1
      if (depth === 0) return index + 1
    }
  }
  return undefined
}

/** Counts, messages and what a memory says, in words. */

const whole = new Intl.NumberFormat("en-US")

export const count = (value: number): string => whole.format(value)

/** Of a noun whose plural ends in s. */
export const countOf = (value: number, noun: string): string => `${count(value)} ${noun}${value === 1 ? "" : "s"}`

export const countOfMemories = (value: number): string => `${count(value)} ${value === 1 ? "memory" : "memories"}`

export const countOfCredits = (value: number): string => countOf(value, "credit")

const directions = /[\u202A-\u202E\u2066-\u2069]/g

/** With signs that turn the direction of what follows by their names: \u202E makes "gnp.exe" look like "exe.png". */
export const seen = (text: string): string => text.replace(directions, (sign) => `[U+${codeOf(sign)}]`)

/** JSON that reads as it is stored, whatever signs its texts have. */
export const seenJson = (json: string): string => json.replace(directions, (sign) => `\\u${codeOf(sign)}`)

const codeOf = (sign: string): string => sign.charCodeAt(0).toString(16).toUpperCase()

/** Whom a deletion of memories concerned, and how many there were. Details of the log may be of any type. */
export const deletionText = (given: {
  readonly agentId?: unknown
  readonly subjectId?: unknown
  readonly threadId?: unknown
  readonly kind?: unknown
  readonly memories: number
  readonly dryRun?: unknown
}): string => {
  const named = [
    ["subject", given.subjectId],
    ["agent", given.agentId],
    ["thread", given.threadId],
    ["kind", given.kind]
  ].flatMap(([name, value]) => (typeof value === "string" ? [`${String(name)} ${value}`] : []))
  const whom = named.length === 0 ? "" : `${named.join(", ")}: `
  return `${whom}${countOfMemories(given.memories)} ${given.dryRun === true ? "counted, none deleted" : "deleted"}`
}

/** Fields that say whom or what sort, not what is known: they stand last. */
const isLabel = (name: string): boolean => /^(?:subject|user|kind|category|id)$|(?:Type|Id)$/.test(name)

/** The words of a memory's data in one line, what is known before whom it is about. */
export const summary = (data: Readonly<Record<string, unknown>>): string => {
  const { preference, preferenceType } = data
  if (typeof preference === "string" && typeof preferenceType === "string") return `${preferenceType} ${preference}`
  for (const name of ["fact", "content", "text", "event", "description", "summary", "value"]) {
    const value = data[name]
    if (typeof value === "string" && value !== "") return value
  }
  return Object.entries(data)
    .toSorted(([one], [other]) => Number(isLabel(one)) - Number(isLabel(other)))
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(" · ")
}

/** A message of the service as a sentence: its messages begin small and end without a full stop. */
export const sentence = (message: string): string => {
  const text = message.trim()
  if (text === "") return text
  // A name of a field or a setting keeps its spelling.
  const isWord = /^[a-z]+(?=[\s,:;.]|$)/.test(text)
  return `${isWord ? text.charAt(0).toUpperCase() + text.slice(1) : text}${/[.!?]$/.test(text) ? "" : "."}`
}

/** Browsers name others that they are like: the first that fits is it. */
const browsers: ReadonlyArray<readonly [name: string, pattern: RegExp]> = [
  ["Edge", /\bEdg(?:A|iOS)?\/(\d+)/],
  ["Opera", /\bOPR\/(\d+)/],
  ["Samsung Internet", /\bSamsungBrowser\/(\d+)/],
  ["Vivaldi", /\bVivaldi\/(\d+)/],
  ["Firefox", /\b(?:Firefox|FxiOS)\/(\d+)/],
  ["Chrome without a window", /\bHeadlessChrome\/(\d+)/],
  ["Chrome", /\b(?:Chrome|CriOS)\/(\d+)/],
  ["Safari", /\bVersion\/(\d+)[\d.]* (?:Mobile\/\w+ )?Safari\//]
]

const systems: ReadonlyArray<readonly [name: string, pattern: RegExp]> = [
  ["iPhone", /\biPhone\b/],
  ["iPad", /\biPad\b/],
  ["Android", /\bAndroid\b/],
  ["ChromeOS", /\bCrOS\b/],
  ["Windows", /\bWindows\b/],
  ["macOS", /\bMac OS X\b/],
  ["Linux", /\bLinux\b|\bX11\b/]
]

/** Browser and system in words, by what a browser says of itself (`User-Agent`); a program by its own name. */
export const browserName = (userAgent: string): string => {
  const [browser, version] = browsers.flatMap(([name, pattern]) => {
    const found = pattern.exec(userAgent)?.[1]
    return found === undefined ? [] : [name, found]
  })
  const system = systems.find(([, pattern]) => pattern.test(userAgent))?.[0]
  if (browser === undefined) {
    const program = /^[\w.-]+(?:\/[\w.-]+)?/.exec(userAgent)?.[0]
    return program === undefined || program.startsWith("Mozilla/") ? "an unknown browser" : program.replace("/", " ")
  }
  return `${browser} ${version}${system === undefined ? "" : ` on ${system}`}`
}

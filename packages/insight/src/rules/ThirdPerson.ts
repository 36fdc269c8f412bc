/**
 * Rewriter of facts from the first to the third person: a stored fact stands alone, so `I live with my wife` is kept as
 * `Alice lives with Alice's wife`. Pronouns of the user are not guessed; the name (or `the user`) is repeated.
 */
import type { People } from "./People.ts"

/** `text` with `I`, `me`, `my`, `we`, `our` replaced by the speaker. */
export const inThirdPerson = (text: string, people: People): string => {
  const inside = people.speakerInside
  return text
    .replace(/\b(?:on|by) (?:my|our) own\b/gi, "alone")
    .replace(/\b(?:my|our)\b(?: own\b)?/gi, `${inside}'s`)
    .replace(/\b(?:mine|ours)\b/gi, `${inside}'s`)
    .replace(/\b(?:myself|ourselves)\b/gi, "themselves")
    .replace(/\b(?:I|we) am\b/g, `${inside} is`)
    .replace(/\bwe are\b/g, `${inside} is`)
    .replace(/\b(?:I|me|us|we|We)\b/g, inside)
}

/** `live in Rome` -> `lives in Rome`, for one person; past forms and modals stay. */
export const conjugated = (predicate: string, isPlural: boolean): string => {
  const lead =
    /^(?:(?:no longer|never|always|rarely|often|usually|hardly ever|seldom|sometimes|hardly|only|still|also) )+/i.exec(
      predicate
    )?.[0] ?? ""
  const [first = "", ...rest] = predicate.slice(lead.length).split(" ")
  const mark = /[,;]$/.exec(first)?.[0] ?? ""
  const lower = first.slice(0, first.length - mark.length).toLowerCase()
  const form = isPlural ? (irregularPlurals[lower] ?? lower) : (irregulars[lower] ?? thirdForm(lower, rest))
  return `${lead}${[`${form}${mark}`, ...rest].join(" ")}`
}

const irregulars: Readonly<Record<string, string>> = {
  am: "is",
  are: "is",
  were: "was",
  have: "has",
  do: "does",
  go: "goes",
  be: "is"
}
const irregularPlurals: Readonly<Record<string, string>> = { am: "are" }

/** Past forms without -ed, and words that never take -s. */
const fixedForms: ReadonlySet<string> = new Set(
  (
    "is was has does did had will would can could may might must shall should not never been got went moved left quit " +
    "bought sold met married lost won broke began became came ran grew gave took made built wrote drove flew spent " +
    "taught told thought found felt kept knew led paid said saw sent sat stood swam threw woke wore hurt cut put read " +
    "let hit ate drank chose fell forgot held laid lent rode sang slept spoke used switched stopped started"
  ).split(" ")
)

const thirdForm = (verb: string, rest: ReadonlyArray<string>): string => {
  if (fixedForms.has(verb)) {
    const isPresentRead = verb === "read" && !/\b(?:yesterday|last|ago)\b/.test(rest.join(" "))
    return isPresentRead ? "reads" : verb
  }
  if (/(?:ed|[^s]s)$/.test(verb) && !/^(?:need|feed|breed|speed|focus)$/.test(verb)) return verb
  if (/(?:s|x|z|ch|sh)$/.test(verb)) return `${verb}es`
  return /[^aeiou]y$/.test(verb) ? `${verb.slice(0, -1)}ies` : `${verb}s`
}

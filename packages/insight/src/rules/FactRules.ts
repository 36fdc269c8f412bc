/**
 * Facts that stay true, found by a closed list of forms (lexicon/facts.ts): who somebody is, where they live, what they do,
 * their family, body, possessions, habits and skills. What no form matches is no fact.
 */
import { factEnds, technical } from "./lexicon/speech.ts"
import { noTrades, trades } from "@muniment/language/people/Trades"
import { factForms } from "./lexicon/facts.ts"
import { oneOf } from "@muniment/language/text/OneOf"
import { entityOf, factOf, type RuleFamily, type Scene } from "./Finding.ts"
import { anywhere, pattern } from "./Pattern.ts"

const rows = factForms.map(({ attribute, isOfPets, rule, says, unless }) => ({
  isOfPets,
  rule,
  attribute,
  says: pattern(says),
  unless: unless === undefined ? undefined : anywhere(`\\b(?:${unless})`)
}))

/** Of people only: a dog that is a lawyer is a joke. */
const human: ReadonlySet<string> = new Set(["work", "role", "study", "origin", "language", "change", "skill"])

export const factRules: RuleFamily = (scene) => {
  const { predicate, subject } = scene.clause
  if (subject.type === "attribute" || (subject.type === "speaker" && technical.test(predicate))) return undefined
  const isPet = subject.type === "person" && subject.person.isPet
  for (const { attribute, isOfPets, rule, says, unless } of rows) {
    if ((isOfPets && !isPet) || (isPet && human.has(rule))) continue
    // `we are eight` is the number of those at the table.
    if (rule === "age" && subject.type === "speaker" && subject.isShared === true) continue
    const match = says.exec(predicate)
    if (match === null || unless?.test(predicate) === true) continue
    const occupation = occupationIn(predicate)
    if (rule === "role" && attribute !== undefined && occupation === undefined) continue
    const fields = { ...(rule === "role" && occupation !== undefined ? { occupation } : {}), ...told(match.groups) }
    const fact = factOf(whole(scene, match[0].length), rule, entityOf(scene, fields))
    return [attribute === undefined ? fact : { ...fact, attribute }]
  }
  return undefined
}

const whole = (scene: Scene, length: number): Scene => ({
  ...scene,
  clause: { ...scene.clause, predicate: withoutAside(scene.clause.predicate, length) }
})

/** `am a nurse, send help`: what hangs on behind the fact is cut, the members of a list are not. */
export const withoutAside = (predicate: string, from = 0): string => {
  const [first = "", ...parts] = predicate.replace(/ \(.*$/, "").split(/,\s+/)
  let kept = first
  for (const [at, part] of parts.entries()) {
    const rest = parts.slice(at)
    const isListed = rest.some((other) => /^(?:\S+ )?(?:and|or) /.test(other))
    const isName = /^(?:an? |the )?[\p{Lu}\d]|^(?:due|since|for|aged|both) /u.test(part)
    const isShort =
      part.split(" ").length <= 6 && !/\b(?:I|we|it|is|are|am|was|has|have|that|which|so|but|not|please)\b/.test(part)
    if (kept.length >= from && !(isShort && (isListed || isName))) break
    kept = `${kept}, ${part}`
  }
  const end = ending.exec(kept.slice(from))
  return end === null ? kept : kept.slice(0, from + end.index)
}

const ending = oneOf(factEnds, { before: ",? (?:", after: String.raw`)\b.*$`, flags: "iu" })

const told = (groups: Readonly<Record<string, string | undefined>> | undefined): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(groups ?? {}).flatMap(([field, value]) => (value === undefined ? [] : [[field, value]]))
  )

/** `am a paediatric dentist from Brno`: what ends like a trade is one. */
const occupationIn = (predicate: string): string | undefined => {
  const noun =
    /^(?:am|is|was|became|are|have been|has been) (?:not )?(?:an? |the )(?:\d+[- ]year[- ]old )?([\p{L}][\p{L} -]*?)(?= (?:at|for|in|with|on|of|from|and|who|based|by|since|these|now)\b|[,.;]|$)/u.exec(
      predicate
    )?.[1]
  return noun !== undefined && isTrade(noun) ? noun : undefined
}

/** A noun phrase that ends like an occupation. */
export const isTrade = (noun: string): boolean => {
  const last = noun.split(/[ -]/).at(-1)?.toLowerCase() ?? ""
  return !noTrades.has(last) && (trades.has(last) || /(?:er|or|ist|ian|ant|eer|ect|yst)$/.test(last))
}

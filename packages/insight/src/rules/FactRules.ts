/**
 * Facts that stay true, told by a closed list of forms (lexicon/facts.ts): who somebody is, where they live, what they do,
 * their family, body, possessions, habits and skills. What no form matches is no fact.
 */
import { factForms } from "./lexicon/facts.ts"
import { noTrades, technical, trades } from "./lexicon/trades.ts"
import { entityOf, factOf, type RuleFamily } from "./Finding.ts"
import { anywhere, pattern } from "./Pattern.ts"

const rows = factForms.map(({ attribute, rule, says, unless }) => ({
  rule,
  attribute,
  says: pattern(says),
  unless: unless === undefined ? undefined : anywhere(`\\b(?:${unless})`)
}))

export const factRules: RuleFamily = (scene) => {
  const { predicate, subject } = scene.clause
  if (subject.type === "attribute" || (subject.type === "speaker" && technical.test(predicate))) return undefined
  for (const { attribute, rule, says, unless } of rows) {
    const match = says.exec(predicate)
    if (match === null || unless?.test(predicate) === true) continue
    const occupation = occupationIn(predicate)
    if (rule === "role" && attribute !== undefined && occupation === undefined) continue
    const fields = { ...(rule === "role" && occupation !== undefined ? { occupation } : {}), ...told(match.groups) }
    const fact = factOf(scene, rule, entityOf(scene, fields))
    return [attribute === undefined ? fact : { ...fact, attribute }]
  }
  return undefined
}

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

/**
 * Tastes: what somebody likes, dislikes or prefers, by the forms of lexicon/preferences.ts. Wishes and needs pass, so they
 * are none. A list of short objects is one preference each.
 */
import {
  attributeName,
  capitalised,
  type Finding,
  inThirdPerson,
  type PreferenceType,
  type RuleFamily,
  type Scene,
  subjectOf
} from "./Finding.ts"
import type { RuleName } from "./lexicon/rules.ts"
import { domains, objectEnds, pairs, tasteForms } from "./lexicon/preferences.ts"
import { anywhere, pattern } from "./Pattern.ts"
import { rulesLimits } from "./RulesProtocol.ts"
import { negatorsIn } from "@muniment/language/speech/Mood"
import type { Word } from "./Words.ts"
import { wordSet } from "@muniment/language/text/OneOf"
import type { People } from "./People.ts"

const rows = tasteForms.map(({ says, type }) => ({ type, lead: pattern(says) }))
const ruleOf = { likes: "like", dislikes: "dislike", prefers: "preference" } as const
const tail = anywhere(`,? (?:${objectEnds})\\b.*$`)

export const preferenceRules: RuleFamily = (scene) => {
  const { predicate, subject } = scene.clause
  if (subject.type === "attribute") return favoriteOf(scene, subject.noun)
  // A person named without a relation may be the other speaker's acquaintance.
  if (subject.type === "person" && subject.person.relation === undefined) return undefined
  const row = rows.find(({ lead }) => lead.test(predicate))
  if (row === undefined) return undefined
  const lead = row.lead.exec(predicate)?.[0] ?? ""
  // `I loved jazz as a child`; `never liked` holds still.
  if (/^(?:loved|liked|enjoyed|adored|hated|disliked|despised|preferred)\b/.test(predicate)) return []
  const rest = scene.dates.reduce((text, { text: date }) => text.replace(date, ""), predicate.slice(lead.length).trim())
  if (/^to (?!\p{Ll}+ \p{L}|the\b|my\b)|^to (?:say|see|hear|know|think|admit|be)\b/u.test(rest)) return []
  // `I would rather eat glass`: not said of what is preferred.
  if (/\brather$/.test(lead) && !/ than /.test(rest)) return []
  // A denial of the lead's own is understood, another one is not.
  if (negatorsIn(lead).length > 1 || negatorsIn(rest).length > 0) return []
  const object = objectOf(/\brather$/.test(lead) ? rest.replace(/ than /, " rather than ") : rest)
  if (object === undefined || !isNounPhrase(object, scene.clause.words)) return []
  const items = row.type === "prefers" ? [object] : listItems(object)
  return items.map((item) => finding(scene, ruleOf[row.type], row.type, item))
}

const finding = (scene: Scene, rule: RuleName, type: PreferenceType, item: string): Finding => {
  const preference = inThirdPerson(item, scene.people)
  const domain = domainOf(item)
  const base = { rule, type: "preference", subject: subjectOf(scene), text: preference, preferenceType: type } as const
  const taste = type === "prefers" ? {} : { attribute: `taste ${attributeName(item)}` }
  return domain === undefined ? { ...base, ...taste } : { ...base, ...taste, domain }
}

/** `my favorite food is sushi`, `my comfort food is ramen`. */
const favoriteOf = (scene: Scene, noun: string): ReadonlyArray<Finding> | undefined => {
  const favorite = /^(?:(?:all[- ]time|absolute|new|current) )?(?:favorite|least favorite|most hated)(?: (.+))?$/i.exec(
    noun
  )
  const isTreat = /(?:guilty pleasure|comfort food|of choice|happy place|passion|obsession)$/i.test(noun)
  if (favorite === null && !isTreat) return undefined
  const value =
    /^(?:is|are|was|has always been|would be|has to be|must be) (?:(?:probably|definitely|currently|now|by far) )*(.+)$/i.exec(
      scene.clause.predicate
    )?.[1]
  const object = value === undefined ? undefined : objectOf(value)
  if (object === undefined) return []
  const domain = favorite?.[1]?.replace(/ (?:of all time|ever)$/, "").replace(/^(?:kind|type|sort) of /, "")
  const items = listItems(object)
  const type = /least|hated/i.test(noun) ? "dislikes" : "likes"
  const attribute =
    domain === undefined ||
    /^(?:thing|things|part|one|place|way)\b/.test(domain) ||
    items.length > 1 ||
    type === "dislikes"
      ? {}
      : { attribute: `favorite ${domain}` }
  return items.map((item) => ({
    ...finding(scene, "favorite", type, item),
    ...attribute,
    ...(domain === undefined || domain.length > 40 ? {} : { domain })
  }))
}

/** The object alone: no reason, no adverbs before and behind it. */
const objectOf = (text: string): string | undefined => {
  const object = text
    .replace(tail, "")
    // `sci-fi movies, the effects are so cool`
    .replace(/, [^,]*\b(?:is|are|was|were|has|have|can|will|am)\b.*$/, "")
    .replace(/^(?:to (?!the\b|my\b)|for |of |really |all the |all of the )/i, "")
    .replace(/^(?:it when) /, "when ")
    .replace(/[\s,.;:!-]+$/, "")
    .trim()
  return object === "" ? undefined : object
}

/** `jazz, hiking and sushi`: three, when each is short and the list is one of equals. */
const listItems = (object: string): ReadonlyArray<string> => {
  const items = object
    .split(/,? (?:and|or)(?: also)? |, /)
    .map((item) => item.trim())
    .filter((item) => item !== "")
  const isList = items.length > 1 && items.length <= rulesLimits.listItemsMax && items.every(isShort)
  const heads = items.slice(0, -1)
  const last = items.at(-1) ?? ""
  // `Italian and Thai food`, `electronic and rock music`: the last word belongs to all.
  const isHeaded = last.includes(" ") && heads.every((item) => !item.includes(" ") && !/(?:ing|s)$/.test(item))
  // `painting landscapes and still life`: the verb belongs to both.
  const isShared =
    heads[0]?.includes(" ") === true &&
    /^(?:\w+ing|the|my|our|a|an|\p{Ll}+) \S/u.test(object) &&
    !/ing\b|^(?:the|my|our) /.test(last)
  const isPair = heads.some((item) => pairs.has(item.split(" ").at(-1) ?? "")) || /\bbetween\b/.test(object)
  return isList && !isHeaded && !isShared && !isPair ? items : [object]
}

/** Begins like the name of a thing and is no adjective alone: neither `or eat pork` nor `few people` nor `long`. */
const isNounPhrase = (object: string, words: ReadonlyArray<Word>): boolean => {
  const [first = "", ...others] = object.toLowerCase().split(/[^\p{L}\p{N}'-]+/u)
  const tags = words.findLast(({ lower }) => lower === first)?.tags
  if (tags === undefined) return !unnamed.test(first)
  const isLone = others.filter((word) => word !== "").length === 0
  if (isLone && (tags.has("Adjective") || tags.has("Adverb")) && !tags.has("Noun")) return false
  return !unnamed.test(first) && !tags.has("Conjunction")
}

/** Words that join, count or point. */
const unnamed =
  /^(?:and|or|nor|but|than|as|few|fewer|little|less|more|most|much|many|some|any|each|either|neither|both|for|of|at|from|about|with|without|to)$/

const isShort = (item: string): boolean => item.split(" ").length <= 4

const domainOf = (text: string): string | undefined => {
  const words = text.toLowerCase().split(/[^\p{L}-]+/u)
  return Object.entries(domains).find(([, known]) => words.some((word) => known.has(word)))?.[0]
}

/** What agents do for their users, as an order. */
const agentVerbs = wordSet(`
  abbreviate add address answer apologise apologize ask assume be begin call check cite confirm convert default double-check
  end explain format give greet include keep limit list mention offer open prefer provide put quote recommend refer remind
  reply respond round show sign skip speak spell start stick suggest summarise summarize talk translate use write
`)

/** Said of this moment, or of what was said before. */
const once = /\b(?:this|that|it|those|these|today|tonight|yet|again|here|anymore|right now|for now|just now)\b/i

const lead = String.raw`^(?:(?:please|ok(?:ay)?|so|and|also|but|oh|hey)[\s,]+)*`
const forms: ReadonlyArray<RegExp> = [
  // "From now on, (always) answer in French", "In future please do not use emojis".
  new RegExp(
    `${lead}(?:from (?:now|here) on|from this point on|going forward|in (?:the )?future)[\\s,:]+(?:please[\\s,]+)?(?<order>(?:always |never |do not (?:ever )?|avoid |stop )?(?<verb>[\\p{L}-]+)(?: .+)?)$`,
    "iu"
  ),
  // "Answer me in French from now on."
  new RegExp(
    `${lead}(?<order>(?:do not |avoid |stop )?(?<verb>[\\p{L}-]+) .+?),? (?:from (?:now|here) on|going forward|in (?:the )?future)$`,
    "iu"
  ),
  // "Always answer in metric units", "never call me Bobby", "do not ever use emojis".
  new RegExp(`${lead}(?<order>(?:always |never |do not ever )(?<verb>[\\p{L}-]+) .+)$`, "iu"),
  // "Please do not use emojis."
  new RegExp(`${lead}(?<=please[\\s,]+)(?<order>do not (?<verb>[\\p{L}-]+) .+)$`, "iu")
]

/** `sentence` has its contractions expanded. */
export const standingInstruction = (sentence: string, people: People): Finding | undefined => {
  const said = sentence.trim().replace(/[\s.!]+$/, "")
  if (said.endsWith("?") || once.test(said)) return undefined
  for (const form of forms) {
    const { order, verb } = form.exec(said)?.groups ?? {}
    if (order === undefined || verb === undefined || !isAgents(verb)) continue
    const text = `${capitalised(inThirdPerson(order, people))}.`
    return { rule: "instruction", type: "instruction", subject: people.speaker, text }
  }
  return undefined
}

/** "Stop using", "avoid giving" too. */
const isAgents = (verb: string): boolean => {
  const word = verb.toLowerCase()
  const stem = word.replace(/ing$/, "")
  return [word, stem, `${stem}e`, stem.replace(/(.)\1$/, "$1")].some((form) => agentVerbs.has(form))
}

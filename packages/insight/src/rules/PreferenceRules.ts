/**
 * Rules for preferences: likes, dislikes, what a person prefers, avoids, wants or needs. A list of short objects is one
 * preference each; a bare pronoun (`it`, `that`) is no object.
 */
import { type Finding, type PreferenceType, type RuleFamily, type Scene, subjectOf } from "./Finding.ts"
import type { RuleName } from "./Confidence.ts"
import type { People } from "./People.ts"
import { rulesLimits } from "./RulesProtocol.ts"
import { inThirdPerson } from "./ThirdPerson.ts"

interface Row {
  readonly type: PreferenceType
  readonly rule: RuleName
  /** The predicate up to the object. */
  readonly lead: RegExp
}

const be = "(?:am|is|are|have been|has been|was)"
const never = "(?:(?:have|has) )?(?:never|do not|does not|can not|will not|no longer|am not|did not|have not)"

/** The first row that fits counts: negations stand before what they negate. */
const rows: ReadonlyArray<Row> = [
  {
    type: "dislikes",
    rule: "dislike",
    lead: /^(?:do not|does not|did not|no longer|never) (?:really |much |actually |particularly )*(?:like|likes|liked|enjoy|enjoys|enjoyed|love|loves|care for|fancy|dig)\b/i
  },
  {
    type: "dislikes",
    rule: "dislike",
    lead: new RegExp(
      `^(?:am|is|are) (?:not|no longer|never) (?:really |much |exactly |particularly )*(?:a |an )?(?:big |huge |great |much of a )*(?:fan of|into|keen on|fond of|a fan of|crazy about|interested in)\\b`,
      "i"
    )
  },
  {
    type: "dislikes",
    rule: "dislike",
    lead: /^(?:have never|has never|never) (?:really )?(?:liked|enjoyed|cared for|understood the appeal of)\b/i
  },
  {
    type: "dislikes",
    rule: "dislike",
    lead: /^(?:(?:have |has )?(?:always )?(?:hate|hates|hated|dislike|dislikes|disliked|despise|despises|detest|detests|loathe|loathes)|can not stand|could not stand|can not bear|can not tolerate|am sick of|am fed up with|have gone off|went off)\b/i
  },
  {
    type: "avoids",
    rule: "avoidance",
    lead: new RegExp(
      `^${never} (?:really )?(?:eat|eats|eaten|eating|drink|drinks|drinking|touch|use|buy|consume|tolerate|have|handle)\\b(?! (?:to|a|an|any ?more|any|time|the|much|enough|been|kids|children|pets|siblings)\\b)`,
      "i"
    )
  },
  {
    type: "avoids",
    rule: "avoidance",
    lead: /^(?:(?:try|tries|trying) to (?:avoid|stay away from|limit|cut down on|not eat)|(?:have been |has been |am |is )?avoid(?:s|ed|ing)?|stay(?:s)? away from|stay(?:s)? off|steer(?:s)? clear of|(?:have |has )?(?:gave up|given up|cut out|stopped eating|stopped drinking|sworn off|swore off))\b/i
  },
  {
    type: "prefers",
    rule: "preference",
    lead: /^(?:(?:would )?(?:much |always |far )*(?:prefer|prefers|preferred|favor|favors|favour|favours)|would (?:much )?rather)\b/i
  },
  {
    type: "likes",
    rule: "like",
    lead: new RegExp(
      `^${be} (?:such |really |kind of |totally |a |an |the )*(?:big |huge |massive |great |lifelong |long-time |avid |die-hard |real |total )*(?:fan of|into|keen on|fond of|obsessed with|crazy about|mad about|passionate about|addicted to|hooked on|in love with|partial to|interested in|a sucker for|sucker for|fascinated by|enthusiastic about)\\b`,
      "i"
    )
  },
  {
    type: "likes",
    rule: "like",
    lead: /^(?:(?:have |has )?(?:always |absolutely |really |secretly )*(?:love|loves|loved|adore|adores|adored|like|likes|liked|enjoy|enjoys|enjoyed|fancy|fancies)|can not get enough of|can not live without|have a (?:soft spot|sweet tooth|weakness|passion|thing) for|have a passion for|find joy in|have fallen in love with|fell in love with|have gotten into|got into|have really gotten into)\b/i
  },
  {
    type: "wants",
    rule: "wish",
    lead: /^(?:(?:would (?:really |very much |absolutely |also )*(?:like|love)|want|wants|wanted|have always wanted|has always wanted|wish|wishes|hope|hopes|am hoping|is hoping|(?:am dying|am eager|am keen)(?= to\b)|aim|aims|aspire|aspires|long|am aiming|is aiming|am dreaming of|dream|dreams|am looking forward|am saving up|am saving|is saving)(?: to| of| for)?)\b/i
  },
  {
    type: "needs",
    rule: "need",
    lead: /^(?:need|needs|require|requires|must have|am in need of|have a need for|could not do without)\b/i
  }
]

/** Before the plain verbs, whose beginnings these share. */
const idioms: ReadonlyArray<Row> = [
  {
    type: "dislikes",
    rule: "dislike",
    lead: /^(?:can not be (?:bothered|doing) with|(?:was|were|am) never (?:really )?(?:into|keen on|fond of|one for)|(?:have|has) (?:no|little) (?:time|patience|love|interest) (?:for|in)|(?:have|has) never (?:really )?(?:got|gotten|warmed|taken) (?:on with|into|to)|(?:am|is|are) (?:put off by|tired of|not one for|no fan of|bored of|over)|could not care less about|get annoyed by|cringe at)\b/i
  },
  {
    type: "prefers",
    rule: "preference",
    lead: /^(?:tend(?:s)? to (?:prefer|like|favou?r|go for|choose)|lean(?:s)? (?:towards?|more towards?)|gravitate(?:s)? (?:to|towards?)|(?:would )?(?:always|usually|generally|normally) (?:choose|chooses|pick|picks|go for|goes for|opt for|opts for|take the)|opt(?:s)? for|(?:would )?always go with)\b/i
  },
  {
    type: "likes",
    rule: "like",
    lead: /^(?:(?:have|has) (?:grown|come|learned|learnt) to (?:like|love|appreciate|enjoy)|(?:am|is|are) (?:all about|team|big on|drawn to|really enjoying|enjoying|loving|devoted to|wild about|nuts about)|(?:enjoy|love|like)s? nothing (?:more|better) than|get(?:s)? a kick out of|find(?:s)? (?:comfort|joy|peace) in|thrive(?:s)? on|(?:have|has) (?:such )?a (?:weakness|soft spot|love|fondness|taste|thing) for|never (?:tire|get tired|get bored) of|can always go for)\b/i
  }
]

export const preferenceRules: RuleFamily = (scene) => {
  const { predicate, subject } = scene.clause
  if (subject.type === "attribute") return favoriteOf(scene, subject.noun)
  const isPast = /^(?:used to|did)\b/.test(predicate)
  if (isPast) return undefined
  const row = [...idioms, ...rows].find(({ lead }) => lead.test(predicate))
  if (row === undefined) return loverOf(scene)
  const rest = withoutDates(predicate.replace(row.lead, "").trim(), scene, row.type)
  // A future act with a date is a plan; so is what must be done.
  if ((row.type === "wants" || row.type === "needs") && scene.dates.some(({ start }) => start !== undefined))
    return undefined
  const compared = /\brather$/.test(row.lead.exec(predicate)?.[0] ?? "")
    ? rest.replace(/ than /, " rather than ")
    : rest
  const object = row.type === "prefers" ? comparison(compared) : objectOf(rest)
  if (object === undefined || isPointless(object, row.type)) return []
  const items = row.type === "prefers" ? [object] : listItems(object)
  return items.map((item) => finding(scene, row, item))
}

/** Removes when a preference began; keeps when a wish is to come true. */
const withoutDates = (text: string, { dates }: Scene, type: PreferenceType): string =>
  dates.reduce((rest, date) => rest.replace(date.text, type === "wants" || type === "needs" ? date.absolute : ""), text)

const finding = (scene: Scene, { rule, type }: Pick<Row, "rule" | "type">, item: string): Finding => {
  const preference = inThirdPerson(item, scene.people)
  const domain = domainOf(item)
  const base = { rule, type: "preference", subject: subjectOf(scene), text: preference, preferenceType: type } as const
  return domain === undefined ? base : { ...base, domain }
}

/** `my favorite food is sushi` */
const favoriteOf = (scene: Scene, noun: string): ReadonlyArray<Finding> | undefined => {
  const favorite =
    /^(?:(?:all-time|all time|absolute|new|current) )?(?:favorite|fav|least favorite|most hated)(?: (.+))?$/i.exec(noun)
  if (favorite === null) return petPeeve(scene, noun)
  const value =
    /^(?:is|are|was|has (?:always )?been|have always been|would be|has to be|would have to be|must be) (?:probably |definitely |currently |now |by far |and always will be )*(.+)$/i.exec(
      scene.clause.predicate
    )?.[1]
  const object = value === undefined ? undefined : objectOf(value)
  if (object === undefined || isPointless(object, "likes")) return []
  const domain = favorite[1]?.replace(/ (?:of all time|ever)$/, "").replace(/^(?:kind|type|sort) of /, "")
  const type = /least|hated/i.test(noun) ? "dislikes" : "likes"
  return listItems(object).map((item) => ({
    ...finding(scene, { rule: "favorite", type }, item),
    ...(domain === undefined || domain.length > 40 ? {} : { domain })
  }))
}

/** `Green tea is my thing` */
export const belovedThing = (text: string, people: People): ReadonlyArray<Finding> | undefined => {
  const found =
    /^([^,;:]{2,40}?) (?:is|are) (?:totally |really |definitely |so )?my (?:thing|jam|favorite|go-to|guilty pleasure|comfort food|cup of tea|happy place|passion)(?: ([a-z]+))?(?=[^\p{L}]*$)/u.exec(
      text
    )
  if (found?.[1] === undefined || /^(?:it|that|this|he|she|they|what|which)$/i.test(found[1])) return undefined
  const item = inThirdPerson(lowered(found[1]), people)
  const domain = found[2] ?? domainOf(item)
  const base = {
    rule: "favorite",
    type: "preference",
    subject: people.speaker,
    text: item,
    preferenceType: "likes"
  } as const
  return [domain === undefined ? base : { ...base, domain }]
}

/** The first word's capital was the sentence's, unless the next word has one too. */
const lowered = (text: string): string =>
  /^\S+ \p{Lu}/u.test(text) ? text : text.charAt(0).toLowerCase() + text.slice(1)

const petPeeve = (scene: Scene, noun: string): ReadonlyArray<Finding> | undefined => {
  const treat =
    /(?:guilty pleasure|comfort food|(?:drink|weapon|snack|instrument) of choice|happy place|passion|obsession)$/i.test(
      noun
    )
  if (treat) {
    const value = /^(?:is|are|has always been) (.+)$/.exec(scene.clause.predicate)?.[1]
    const object = value === undefined ? undefined : objectOf(value)
    return object === undefined ? undefined : [finding(scene, { rule: "favorite", type: "likes" }, object)]
  }
  if (!/pet peeve$/i.test(noun)) return undefined
  const value = /^(?:is|are) (?:when )?(.+)$/.exec(scene.clause.predicate)?.[1]
  return value === undefined ? undefined : [finding(scene, { rule: "dislike", type: "dislikes" }, value)]
}

/** `am a huge coffee lover`, `am a night owl` is no preference. */
const loverOf = (scene: Scene): ReadonlyArray<Finding> | undefined => {
  const found =
    /^(?:am|is|are) (?:not )?(?:a|an|such a|more of a) (?:big |huge |total |real )*([\w -]+?) (?:lover|person|fan|enthusiast|addict|nerd|geek|buff|fanatic|junkie|guy|gal)s?$/i.exec(
      scene.clause.predicate
    )
  const object = found?.[1]
  if (
    object === undefined ||
    /^(?:nice|good|morning|night|people|busy|private|quiet|shy|normal|family|bad|kind)$/i.test(object)
  )
    return undefined
  const isNegated = /^(?:am|is|are) not /i.test(scene.clause.predicate)
  return [finding(scene, isNegated ? { rule: "dislike", type: "dislikes" } : { rule: "like", type: "likes" }, object)]
}

const tail =
  /(?:, (?:not|mostly|mainly|especially|\w+ly|and not|so|always)\b.*|,? (?:because|but|although|though|so that|since|as long as|which|whenever|even though|rather than|instead of)\b.*|[,;:] .*(?:\bI\b|\bit\b|\bthat\b).*| (?:any ?more|a lot|very much|so much|much|the most|at all|to be honest|lately|these days|nowadays|though|too|as well|either|anyway|honestly|now|right now|after all|again|more than anything|most|best|tbh))+$/i

/** The object alone: no reason, no adverbs behind it. */
const objectOf = (text: string): string | undefined => {
  const object = text
    .replace(tail, "")
    .replace(/^(?:to be (?:able to )?|to (?!the\b|my\b)|for |of |it (?=when )|really |how )/i, "")
    .replace(/[\s,.;:!-]+$/, "")
    .trim()
  return object === "" ? undefined : object
}

const comparison = (text: string): string | undefined => {
  const object = text
    .replace(/,? (?:because|but|although|though|since|which|when it comes to .*|as it)\b.*$/i, "")
    .replace(/^to /i, "")
    .replace(/[\s,.;:!-]+$/, "")
  return object === "" ? undefined : object
}

const isPointless = (object: string, type: PreferenceType): boolean =>
  /^(?:it|that|this|them|those|these|him|her|you|your|one|ones|what|how|the idea|so|more|less|not|some|to|both|all|everything|nothing|something|someone|that's|there|here|the way|the sound|(?:my|our) (?:wife|husband|kids?|mom|mum|dad|family|job|life|girlfriend|boyfriend|parents|son|daughter))\b(?! (?:being|having|doing|who|where)\b)/i.test(
    object
  ) && !/^(?:all|both|some|what|how) [a-z]+ /i.test(object)
    ? true
    : /\b(?:you|your)\b/i.test(object) ||
      object.length < 2 ||
      (type === "wants" && isRequested(object)) ||
      (type === "needs" && isErrand(object))

const isRequested = (object: string): boolean =>
  /^(?:know|ask|hear|talk|say|thank|see (?:some|what|how|if|whether|the)|understand|get (?:some|a|an) (?:advice|help|idea|feedback|info|suggestion)|(?:a|some|an|the|more) (?:\w+ )?(?:advice|help|info|information|details|ideas?|tips?|recipes?|suggestions?|recommendations?|lists?|explanation|answer)|believe|apologi[sz]e|point|make sure|be clear|clarify|check|confirm|share|tell)/i.test(
    object
  )

const isErrand = (object: string): boolean =>
  isRequested(object) ||
  /^(?:go|run|leave|stop|sleep|rest|think|figure|work on|be|do|hurry|get going|some(?:thing| sleep| time| rest)?|a (?:break|moment|minute|second|nap|drink|coffee|hand)|money|time|it|vacation|advice|finish|write|find|fix|call|pick|send)\b/i.test(
    object
  )

/** `jazz, hiking and sushi`: three, when each is short and the list is one of equals. */
const listItems = (object: string): ReadonlyArray<string> => {
  const items = object
    .split(/,? (?:and|or)(?: also)? |, /)
    .map((item) => item.trim())
    .filter((item) => item !== "")
  const isList =
    items.length > 1 &&
    items.length <= rulesLimits.listItemsMax &&
    items.every((item) => item.split(" ").length <= (items.length > 2 ? 6 : 4))
  const isPair =
    /\bbetween\b|\b(?:mac|salt|rock|fish|bread|peanut butter|bed|black|gin|arts?|drum|track|research|science) and\b/i.test(
      object
    )
  const isShared =
    /^(?:to |\w+ing (?!and|or)\w+ (?:and|or) )/.test(object) && !/ing\b.*(?:and|or) \w+ing\b/.test(object)
  // `Italian and Thai food`: the last word belongs to both.
  const isHeaded =
    items.slice(0, -1).every((item) => /^\p{Lu}\S*$/u.test(item)) && / \p{Ll}\S*$/u.test(items.at(-1) ?? "")
  return isList && !isPair && !isShared && !isHeaded ? items : [object]
}

const domains: ReadonlyArray<readonly [string, RegExp]> = [
  [
    "food",
    /\b(?:food|eat|eating|meals?|sushi|pizza|pasta|cheese|meat|beef|pork|chicken|fish|seafood|vegetables?|fruits?|chocolate|dessert|cooking|baking|bread|mushrooms?|olives?|cilantro|coriander|garlic|onions?|spicy|curry|tacos?|ramen|noodles|rice|dairy|gluten|sugar|eggs?|nuts?|salads?|soup|cuisine|restaurants?|breakfast|lunch|dinner|snacks?|broccoli|tofu|bananas?|apples?|tomato(?:es)?|avocado|anchovies|pineapple)\b/i
  ],
  [
    "drink",
    /\b(?:coffee|tea|wine|beer|alcohol|juice|soda|espresso|cocktails?|whisk(?:e)?y|water|cola|latte|caffeine|gin|decaf|matcha)\b/i
  ],
  [
    "music",
    /\b(?:music|jazz|rock|metal|pop|hip[- ]?hop|rap|classical|opera|songs?|concerts?|vinyl|bands?|guitar|piano|techno|blues|country music|k-pop|podcasts?)\b/i
  ],
  [
    "travel",
    /\b(?:travel(?:ling|ing)?|trips?|flights?|hotels?|window seats?|aisle seats?|beach(?:es)?|camping|backpacking|trains?|flying|visit(?:ing)?|airbnbs?)\b/i
  ],
  [
    "sports",
    /\b(?:sports?|football|soccer|tennis|basketball|running|hiking|swimming|cycling|climbing|yoga|gym|ski(?:ing)?|surfing|skating|rugby|cricket|golf|boxing|workouts?)\b/i
  ],
  [
    "entertainment",
    /\b(?:movies?|films?|series|shows?|tv|netflix|anime|games?|gaming|books?|novels?|reading|comics|documentar(?:y|ies)|theat(?:er|re)|sci-fi|horror|thrillers?)\b/i
  ],
  [
    "technology",
    /\b(?:python|javascript|typescript|rust|java|linux|mac|windows|android|iphone|dark mode|light mode|vim|emacs|vs ?code|tabs|spaces|code|coding|programming|laptops?|keyboards?|software)\b/i
  ],
  ["work", /\b(?:meetings?|remote(?:ly)?|office|deadlines|emails?|calls|jobs?|working|career)\b/i]
]

const domainOf = (text: string): string | undefined => domains.find(([, pattern]) => pattern.test(text))?.[0]

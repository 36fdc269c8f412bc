/**
 * Rules for a person's identity: name, age, birth, origin, home, work, school, languages, family status, contact
 * data. Each row of a table is a form of predicate with the field that it tells; the fact itself is the
 * clause in the third person.
 */
import type { Clause } from "./Clauses.ts"
import type { RuleName } from "./Confidence.ts"
import type { Word } from "./Words.ts"
import { entityOf, factOf, headOf, type Finding, ownerOf, type RuleFamily, type Scene, subjectOf } from "./Finding.ts"

/** Groups of `pattern` with a name are fields. */
interface Row {
  readonly rule: RuleName
  readonly pattern: RegExp
}

const place = "(?:the )?(?<city>\\p{Lu}[\\p{L}.'-]*(?: (?:\\p{Lu}|de |do |of |on |la )[\\p{L}.'-]*){0,3})"
const organisation = "(?:the )?(?<employer>\\p{Lu}[\\w&.'-]*(?: (?:of |and |& )?\\p{Lu}[\\w&.'-]*){0,4})"
const role = "(?:an? |the )?(?<occupation>[a-z][\\w /-]*?)"
const roleEnd =
  "(?= (?:at|for|in|with|on|since|from|by|who|where|of|and|near|specialising|specializing|these)\\b|[,.;]|$)"
const be = "(?:am|is|are|was|were|have been|has been)"

const rows: ReadonlyArray<Row> = [
  {
    rule: "age",
    pattern: new RegExp(
      `^(?:${be}|turned|turns|turn|am turning|is turning|will be|will turn) (?<age>\\d{1,3})(?: years?(?: old)?| yrs? old)?(?=[,.;]| (?:and|now|today|on|in|this|next|years|year|last|yesterday|tomorrow)\\b|$)`
    )
  },
  {
    rule: "age",
    pattern: new RegExp(
      `^${be} in (?:my|her|his|their) (?:early |mid-?|late )?(?:twenties|thirties|forties|fifties|sixties|seventies|\\d0'?s)`
    )
  },
  { rule: "age", pattern: /^(?:am|is|are) (?:\w+|\w+-\w+) years old/ },
  {
    rule: "age",
    pattern:
      /^(?:am|is|are|turned|turns|am turning|will be) (?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty(?:[- ]\w+)?)(?=[,.;]| (?:and|now|in|this|last|on)\b|$)/
  },
  { rule: "birth", pattern: /^(?:was|were|am|is) born\b/ },
  {
    rule: "home",
    pattern: new RegExp(
      `^(?:live|lives|reside|resides|am living|is living|am staying|have been living|has been living|have lived|has lived|am settled|live out) .*?\\b(?:in|at|near) ${place}`,
      "u"
    )
  },
  {
    rule: "home",
    pattern:
      /^(?:live|lives|reside|resides|am living|is living|are living|have lived|has lived|have been living|has been living|share|shares) (?!(?:for|to|my life)\b)/
  },
  {
    rule: "home",
    pattern: new RegExp(
      `^${be} (?:based|living|located|settled) (?:out of|in|near|at|just outside|outside) ${place}`,
      "u"
    )
  },
  {
    rule: "origin",
    pattern: new RegExp(`^(?:am|is|are|come|comes|came|hail|hails) from ${place.replace("city", "origin")}`, "u")
  },
  { rule: "origin", pattern: /^(?:grew up|was raised|were raised|spent my childhood)\b/ },
  { rule: "origin", pattern: /^(?:am|is|are|come|comes) from (?:an? |the )[\p{L} -]+ (?:in|near|outside|of) \p{Lu}/u },
  {
    rule: "change",
    pattern: new RegExp(`^(?:have |has |had )?(?:moved|relocated|emigrated|immigrated)\\b(?: .*?)?\\bto ${place}`, "u")
  },
  {
    rule: "change",
    pattern:
      /^(?:have |has |had )?(?:moved|relocated|emigrated|immigrated) (?:in|into|out|back|from|to|here|house|home|away|apartments|flats)\b(?! on\b)/
  },
  {
    rule: "work",
    pattern: new RegExp(
      `^(?:work|works|worked|am working|is working|have worked|has worked|have been working|has been working|am employed|is employed|started working|started) (?:(?:part|full)[- ]time |remotely |freelance )?as ${role}${roleEnd}(?:.*?\\b(?:at|for|with) ${organisation})?`,
      "u"
    )
  },
  {
    rule: "work",
    pattern: new RegExp(
      `^(?:work|works|worked|am working|is working|have worked|has worked|have been working|has been working|am employed|is employed|am interning|intern|started working|started|joined|am joining) (?:(?:part|full)[- ]time |remotely |a new job )?(?:at|for|with|by)? ?${organisation}(?: as ${role}${roleEnd})?`,
      "u"
    )
  },
  {
    rule: "work",
    pattern:
      /^(?:work|works|worked|am working|is working|have worked|has worked|have been working|has been working|freelance|freelances) (?:in|as|at|for|with|from home|remotely|part|full|night|nights|shifts|the night|freelance|on)\b(?! (?:it|that|this|you)\b)/
  },
  {
    rule: "work",
    pattern:
      /^(?:am|is|are|have been|has been|became|got) (?:self-employed|unemployed|retired|freelancing|between jobs|out of work|on (?:maternity|paternity|parental|sick) leave|laid off|made redundant|promoted|fired)/
  },
  {
    rule: "work",
    pattern: /^(?:was|were|got|have been|has been) (?:laid off|fired|made redundant|let go|promoted|hired)/
  },
  {
    rule: "work",
    pattern:
      /^(?:run|runs|own|owns|manage|manages|lead|leads|founded|co-founded|cofounded|started|opened|have|has) (?:my own|our own|a|an|the)\b[\w ,'-]*\b(?:business|company|startup|start-up|shop|store|bakery|restaurant|cafe|café|studio|farm|team|department|agency|practice|bookshop|bookstore|salon|brewery|firm|clinic|podcast|blog|channel|newsletter|food truck)\b/
  },
  {
    rule: "work",
    pattern: /^(?:teach|teaches|taught|coach|coaches|lecture|lectures|tutor|tutors)\b(?! (?:me|you|us|myself)\b)/
  },
  {
    rule: "work",
    pattern:
      /^(?:got|landed|accepted|was offered|have|has|started|am starting|took) (?:a |an |my |the )?(?:new |part-time |full-time |first |second |day |remote |dream |great |job )*(?:job|position|role|promotion|internship|job offer)\b/
  },
  {
    rule: "change",
    pattern:
      /^(?:have |has |had )?(?:quit|left|resigned|retired|lost|changed|switched|dropped out)(?: (?:my|the|her|his|their|a|an|from|of))?(?: [\w-]+){0,2} ?(?:job|jobs|position|role|career|careers|company|university|college|school|firm|work|smoking|drinking|team|band|gym)?\b(?! (?:you|it|that)\b)/
  },
  {
    rule: "study",
    pattern:
      /^(?:study|studies|am studying|is studying|are studying|have been studying|has been studying|studied|major|majors|majored|am majoring|is majoring|graduated|am doing a|am doing my|is doing a|am pursuing|is pursuing|am enrolled|attend|attends|attended|dropped out|am in my (?:first|second|third|final|last|senior|junior) year|got (?:a|my) (?:degree|phd|master|bachelor|diploma)|have (?:a|an|my) (?:degree|phd|master|bachelor|mba|diploma|doctorate)|has (?:a|an) (?:degree|phd|master|bachelor|mba|doctorate))\b/i
  },
  {
    rule: "study",
    pattern:
      /^(?:go|goes|went|am going|is going|got accepted|got into|was accepted|started) (?:to|at|into|in) (?:[\w']+ ){0,3}?(?:school|college|university|uni|kindergarten|preschool|nursery|law school|medical school|[A-Z]\w+ (?:University|College|High|School))\b/
  },
  {
    rule: "language",
    pattern:
      /^(?:speak|speaks|am fluent|is fluent|am bilingual|is bilingual|know some|am a native|is a native|can speak)\b(?! (?:to|with|for|up|of|about)\b)/
  },
  {
    rule: "status",
    pattern:
      /^(?:am|is|are|was|got|have been|has been|am getting|is getting|are getting) (?:not )?(?:(?:happily|newly|recently|never|legally) )?(?:married|single|divorced|engaged|widowed|separated|pregnant|expecting|dating|in a relationship)\b/
  },
  {
    rule: "status",
    pattern:
      /^(?:broke up|split up|got back together|got divorced|eloped|tied the knot|have been (?:together|dating)|has been (?:together|dating))\b/
  },
  { rule: "status", pattern: /^use (?:\w+\/\w+|she|he|they) pronouns/i },
  { rule: "work", pattern: /^(?:telecommute|telecommutes|commute|commutes|moonlight|freelance)\b/ },
  {
    rule: "work",
    pattern: new RegExp(`^(?:have|has) been (?:at|with) ${organisation}(?= (?:since|for)\\b|$)`, "u")
  },
  {
    rule: "study",
    pattern:
      /^(?:am|is|are) in (?:year|grade|class) \d+|^(?:am|is|are) in (?:\w+ )?(?:grade|school|college|university|uni)\b/i
  },
  { rule: "contact", pattern: /^(?:can be reached|am reachable|can reach me)\b/ }
]

export const identityRules: RuleFamily = (scene) => {
  const { predicate, subject } = scene.clause
  if (subject.type === "attribute") return attributeOf(scene, subject)
  if (subject.type === "speaker") {
    const name = ownName(predicate, scene.clause)
    if (name !== undefined) return [nameFinding(scene, name)]
  }
  if (subject.type === "person" && subject.person.name === undefined) {
    const told = new RegExp(`^(?:is|was) ((?:Dr|Mr|Mrs|Ms|Prof)?\\.? ?${nameWord}(?: ${nameWord})?)$`, "u").exec(
      predicate
    )?.[1]
    const isPerson = scene.clause.words.some(({ tags }) => tags.has("Person") || tags.has("Honorific"))
    if (told !== undefined && isPerson) return [nameFinding(scene, told.trim())]
  }
  const named = /^(?:is|are|was) (?:called|named) (\p{Lu}[\p{L}'-]*(?: \p{Lu}[\p{L}'-]*)?)/u.exec(predicate)?.[1]
  if (named !== undefined && subject.type === "person") return [nameFinding(scene, named)]
  for (const { pattern, rule } of rows) {
    const match = pattern.exec(predicate)
    if (match !== null) {
      const attribute = match.groups?.["city"] === undefined ? undefined : "home"
      const told = factOf(scene, rule, entityOf(scene, { ...match.groups }))
      return [attribute === undefined ? told : { ...told, attribute }]
    }
  }
  return undefined
}

const nameWord = "(?:(?:Dr|Prof|Mr|Mrs|Ms)\\.? )?(?!(?:Dr|Prof|Mr|Mrs|Ms)\\b)\\p{Lu}[\\p{L}'-]+"

/** `am Alice`, `go by Al`: a name by its form and its tag, never an adjective or a nationality. */
export const ownName = (predicate: string, clause: Pick<Clause, "words">): string | undefined => {
  const told = new RegExp(
    `^(?:go by|am called|am named|am known as|changed my name to) (${nameWord}(?: ${nameWord}){0,2})`,
    "u"
  ).exec(predicate)
  if (told?.[1] !== undefined) return told[1]
  const bare = new RegExp(
    `^am (${nameWord}(?: ${nameWord}){0,2})(?= (?:and|but|from|by the way)\\b|[,.;!-]|$)`,
    "u"
  ).exec(predicate)?.[1]
  if (bare === undefined) return undefined
  const own = clause.words.filter(({ text }) => bare.split(" ").includes(text))
  const last = own.at(-1)
  if (last === undefined || last.tags.has("Demonym")) return undefined
  if (last.tags.has("Person") || last.tags.has("FirstName")) return bare
  return own.length <= 3 && own.every(isUnheardOf) ? bare : undefined
}

/** A capital that no dictionary knows: a name, unless it is formed like a nationality, a faith or a state. */
const isUnheardOf = ({ tags, text }: Word): boolean =>
  [...tags].every((tag) => tag === "ProperNoun" || tag === "Noun") &&
  !/(?:ish|ese|ian|ean|ic|ist|ite|ing|ed|able|ive|less|ful|ous|ly|[^m]an|ari|ali)$|^(?:\p{Lu}+|Vegan|Asian|Jew|Jewish|Muslim|Sikh|Hindu|Quaker|Mormon|Aries|Taurus|Gemini|Cancer|Leo|Virgo|Libra|Scorpio|Sagittarius|Capricorn|Aquarius|Pisces|Type|Team|Gen|Group|Class|Year|Grade|Level|Mr|Mrs|Ms|Dr|Batman|Superman|Groot|ChatGPT|Claude|Siri|Alexa|Iron|King|Queen|Prince|Captain|God|Satan|Santa)$/u.test(
    text
  )

const nameFinding = (scene: Scene, name: string): Finding => {
  const owner = ownerOf(scene.clause.subject)
  if (owner === undefined) {
    scene.people.speakerName = name
    const entity = { type: "speaker", id: "speaker", fields: { name } } as const
    return { rule: "name", type: "fact", subject: name, text: `The user's name is ${name}`, entity, attribute: "name" }
  }
  const relation = owner.relation
  if (owner.name === undefined || scene.people.named(owner.name) !== undefined) owner.name = name
  const text =
    relation === undefined ? `${name} is the name` : `${scene.people.speakerHead}'s ${relation} is called ${name}`
  return { rule: "name", type: "fact", subject: scene.people.speaker, text, entity: entityOf(scene, { name }) }
}

/** Attributes worth keeping: what stays true of somebody. Questions, moods and points made are none. */
const durableAttribute =
  /\b(?:birthday|date of birth|age|job|job title|occupation|profession|career|role|position|employer|company|email|e-mail|email address|mail|phone|phone number|number|cell|mobile|address|website|handle|username|github|linkedin|twitter|instagram|pronouns|nationality|native language|mother tongue|first language|hometown|home town|hobby|hobbies|interests|goal|goals|dream|dream job|ambition|major|degree|school|university|college|blood type|height|weight|shoe size|size|diet|allergy|allergies|condition|medication|dose|doctor|dentist|therapist|car|bike|bicycle|motorbike|laptop|computer|phone model|house|apartment|flat|home|office|garden|timezone|time zone|religion|faith|zodiac sign|star sign|middle name|last name|surname|maiden name|nickname|budget|salary|schedule|routine|commute|team|anniversary|wedding anniversary|instrument|horse|boat|business|startup|shop|thesis|dissertation|project|book|novel|heritage|background|family|roots|ancestors|skin|hair|eyes|eyesight|specialty|speciality|expertise|field|shift|shifts|license|visa|passport|breed|full name|go-to \w+|password hint|emergency contact|stack|editor|setup|resolution|mantra)$/i

const attributeOf = (
  scene: Scene,
  subject: Extract<Clause["subject"], { type: "attribute" }>
): ReadonlyArray<Finding> | undefined => {
  const { predicate } = scene.clause
  const noun = subject.noun.replace(/'s$/, "").toLowerCase()
  const value =
    /^(?:is|are|was|were|has been|has always been|will be|changed to|is now|became) (?:now |actually |currently )?(.+)$/.exec(
      predicate
    )?.[1]
  if (value === undefined) return undefined
  if (/^(?:real |full |first |actual |legal |given )?name$/.test(noun)) {
    const name = new RegExp(`^(?:not \\S+ but )?(${nameWord}(?: ${nameWord}){0,2})`, "u").exec(value)?.[1]
    return name === undefined ? undefined : [nameFinding(scene, name)]
  }
  if (!durableAttribute.test(noun) || isMood(value)) return undefined
  const rule = /mail|phone|number|address|handle|username|cell|mobile/.test(noun)
    ? "contact"
    : /birth/.test(noun)
      ? "birth"
      : "attribute"
  const field = noun.replace(/[ -]+/g, "_")
  return [
    {
      ...factOf(scene, rule, entityOf(scene, { [field]: value, ...aliases(noun, value) })),
      subject: subjectOf(scene),
      text: `${headOf(scene)} ${sentenceTail(scene)}`
    }
  ]
}

const sentenceTail = (scene: Scene): string => factOf(scene, "attribute").text.slice(headOf(scene).length + 1)

const isMood = (value: string): boolean =>
  /^(?:not )?(?:so |really |very |too |a bit |kind of |such |pretty |quite )*(?:great|good|bad|fine|ok|okay|dead|broken|slow|fast|hard|easy|killing|a mess|messy|a nightmare|terrible|awful|nice|amazing|boring|stressful|going|getting|done|ready|on fire|not working|acting|giving|being|full|empty|crazy|weird|here|there|off|late|tired|that|to know|whether|why|how|what|about)\b/i.test(
    value
  )

const aliases = (noun: string, value: string): Readonly<Record<string, string>> => {
  if (/^(?:job|job title|profession|role|position)$/.test(noun))
    return { occupation: value.replace(/^(?:an?|the) /, "") }
  if (/^(?:e-mail|email address|mail)$/.test(noun)) return { email: value }
  if (/^(?:phone number|number|cell|mobile)$/.test(noun)) return { phone: value }
  return noun === "company" ? { employer: value } : {}
}

/**
 * Names of the user and of others, and their attributes (`my birthday is`), each with the form of its value; facts of other
 * forms are FactRules.ts.
 */
import { attributes, moods, notNames, singleRelations, singleValues } from "./lexicon/identity.ts"
import type { Clause } from "./Clauses.ts"
import { isTrade } from "./FactRules.ts"
import { type Word, wordsOf } from "./Words.ts"
import {
  entityOf,
  factOf,
  type Finding,
  headOf,
  ownerOf,
  type RuleFamily,
  type Scene,
  speakerEntity,
  subjectOf
} from "./Finding.ts"
import type { Turn } from "../extraction/Extractor.ts"
import { messageText } from "./MessageText.ts"
import type { People } from "./People.ts"
import { gate } from "./SentenceGate.ts"
import { writtenOut } from "@muniment/language/speech/WrittenOut"

export const identityRules: RuleFamily = (scene) => {
  const { predicate, subject } = scene.clause
  if (subject.type === "attribute") return attributeOf(scene, subject)
  if (subject.type === "speaker") {
    const name = ownName(predicate, scene.clause)
    if (name !== undefined) return nameFinding(scene, name)
  }
  if (subject.type === "person" && subject.person.name === undefined) {
    const told = new RegExp(`^(?:is|was) ((?:Dr|Mr|Mrs|Ms|Prof)?\\.? ?${nameWord}(?: ${nameWord})?)$`, "u").exec(
      predicate
    )?.[1]
    const isPerson = scene.clause.words.some(({ tags }) => tags.has("Person") || tags.has("Honorific"))
    if (told !== undefined && isPerson) return nameFinding(scene, told.trim())
  }
  const named = /^(?:is|are|was) (?:called|named) (\p{Lu}[\p{L}'-]*(?: \p{Lu}[\p{L}'-]*)?)/u.exec(predicate)?.[1]
  if (named !== undefined && subject.type === "person" && !subject.person.isPlural) return nameFinding(scene, named)
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
  !notNames.has(text) &&
  !/(?:ish|ese|ian|ean|ic|ist|ite|ing|ed|able|ive|less|ful|ous|ly|[^m]an|ari|ali)$|^\p{Lu}+$/u.test(text)

const nameFinding = (scene: Scene, name: string): ReadonlyArray<Finding> => {
  const owner = ownerOf(scene.clause.subject)
  if (owner === undefined) {
    scene.people.speakerName = name
    const entity = speakerEntity(scene.people, { name })
    return [
      { rule: "name", type: "fact", subject: name, text: `The user's name is ${name}`, entity, attribute: "name" }
    ]
  }
  const relation = owner.relation
  // Of somebody without a relation.
  if (relation === undefined) return []
  if (owner.name === undefined || scene.people.named(owner.name) !== undefined) owner.name = name
  const text = `${scene.people.speakerHead}'s ${relation} is called ${name}`
  const attribute = singleRelations.has(relation) ? { attribute: relation } : {}
  const entity = entityOf(scene, { name })
  return [{ rule: "name", type: "fact", subject: scene.people.speaker, text, entity, ...attribute }]
}

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
  if (value !== undefined && /^the (?:best|worst)\b/.test(value)) return undefined
  // `my job was a bummer`: of the past, and mostly a judgement.
  if (value === undefined || (/^(?:was|were) /.test(predicate) && !/^(?:birth|anniversary)/.test(noun)))
    return undefined
  if (/^(?:real |full |first |actual |legal |given )?name$/.test(noun)) {
    const name = new RegExp(`^(?:not \\S+ but )?(${nameWord}(?: ${nameWord}){0,2})`, "u").exec(value)?.[1]
    return name === undefined ? undefined : nameFinding(scene, name)
  }
  if (
    !attributes.has(noun.replace(/^(?:new|old|current|own) /, "")) ||
    (/^(?:new |current |old |own )?(?:day )?job(?: title)?$|^(?:occupation|profession|position|role)$/.test(noun) &&
      !namesTrade(value)) ||
    moods.has(/^\S+/.exec(value)?.[0] ?? "") ||
    !(forms.find(([nouns]) => nouns.test(noun))?.[1].test(value) ?? true) ||
    /^(?:been |being )?\w+ing\b/.test(value)
  )
    return undefined
  const attribute = singleValues[noun.replace(/^(?:new|current|work) /, "")]
  const rule = /mail|phone|number|address|handle|username|cell|mobile/.test(noun)
    ? "contact"
    : /birth/.test(noun)
      ? "birth"
      : "attribute"
  const field = noun.replace(/[ -]+/g, "_")
  return [
    {
      ...factOf(scene, rule, entityOf(scene, { [field]: value, ...aliases(noun, value) })),
      ...(attribute === undefined ? {} : { attribute }),
      subject: subjectOf(scene),
      text: `${headOf(scene)} ${sentenceTail(scene)}`
    }
  ]
}

/** What a value of some attributes has: `my rent is insane` has none. */
const forms: ReadonlyArray<readonly [RegExp, RegExp]> = [
  [/mail/, /@/],
  [/birth|anniversary/, /\d|\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)|day$/i],
  [
    /\b(?:age|rent|salary|budget|weight|height|phone|number|cell|mobile|size|dose)$/,
    /\d|teen\b|ty\b|size|hundred|thousand/
  ],
  [
    /\b(?:address|home|hometown|employer|company|boss|landlord|doctor|dentist|therapist|bank|insurer|school|university|handle|username)$/,
    /\p{Lu}|\d|@/u
  ]
]

/** A trade, or what begins like the name of one; `my job is quiet` names none. */
const namesTrade = (value: string): boolean =>
  isTrade(value.replace(/^(?:an?|the) |,.*$| (?:at|for|in) .*$/g, "")) ||
  /^(?:an?|the|in|at|with|as|to) |\p{Lu}/u.test(value)

const sentenceTail = (scene: Scene): string => factOf(scene, "attribute").text.slice(headOf(scene).length + 1)

const aliases = (noun: string, value: string): Readonly<Record<string, string>> => {
  if (/^(?:job|job title|profession|role|position)$/.test(noun))
    return { occupation: value.replace(/^(?:an?|the) /, "") }
  if (/^(?:e-mail|email address|mail)$/.test(noun)) return { email: value }
  if (/^(?:phone number|number|cell|mobile)$/.test(noun)) return { phone: value }
  return noun === "company" ? { employer: value } : {}
}

const name = "\\p{Lu}[\\p{L}'-]+(?: \\p{Lu}[\\p{L}'-]+){0,2}"
const told = new RegExp(`\\b[Mm]y (?:full |first |real |actual )?name is (?:actually |really )?(${name})`, "u")
const called = new RegExp(
  `^(?:(?:you can|please|just|everyone|people|my friends|friends|everybody) )*(?:call|calls) me (${name})`,
  "iu"
)
/** Words before "here" that are no names. */
const notNamed =
  "(?!(?:Nobody|No|Somebody|Someone|Everyone|Everybody|Everything|Anyone|Anybody|Nothing|Something|All|Same|Me|Us|Not|Just|Still|Always|Right|Over|Up|Down|Back|Out|Now|Come|Especially|Only|Even|Winter|Summer|Spring|Autumn|Fall)\\b)"
const here = new RegExp(
  `^(?:this is )?${notNamed}(${name})(?: from \\p{Lu}\\p{L}+)?,? (?:here|again|speaking)(?: again)?(?=[^\\p{L}]*$|, )|^(?:[Tt]his|[Ii]t) is (${name}) (?:speaking|again|here)(?=[.,!]|$)|^(${name}) is my name\\b`,
  "u"
)
const swapped = new RegExp(
  `^(?:(?:it|that|this) (?:is|should be|was)|I meant|I mean|(?:the|my|(?:his|her) )?name is)(?: actually| spelled)? (${name}),? not (${name})`,
  "u"
)
const swappedBack = new RegExp(
  `^(?:it is |that is )?not (${name})[,;-]+ ?(?:but|it is|rather)? ?(${name})(?=[.,!]|$)`,
  "u"
)

export const learnNames = (turns: ReadonlyArray<Turn>, people: People): void => {
  let isFirst = people.speakerName === undefined
  for (const { content, name, role } of turns) {
    if (role !== "user" || name !== undefined) continue
    const { frames, sentences } = messageText(content)
    for (const sentence of sentences) {
      if (!/\b(?:name|call|here|speaking|this is|i am|i'm|im|not|go by)\b/i.test(sentence)) continue
      const known = nameIn(writtenOut(sentence), people.speakerName, isFirst)
      if (known !== undefined) people.speakerName = known
    }
    if (frames.has("play")) return
    isFirst = false
  }
}

/** `Looky here`: what no dictionary calls a name introduces somebody in the first message only. */
const nameIn = (sentence: string, current: string | undefined, isFirst: boolean): string | undefined => {
  const call = calledName(sentence)
  if (call !== undefined) return current ?? call
  const verdict = gate(sentence)
  if (!verdict.states) return undefined
  const { text } = verdict
  const swap = swapOf(text)
  if (swap !== undefined && swap.wrong === current) return swap.right
  const introduced = hereName(text)
  const isName = introduced !== undefined && (isFirst || isOfPerson(wordsOf(text)))
  const direct = told.exec(text)?.[1] ?? (isName ? introduced : undefined)
  if (direct !== undefined) return direct
  const predicate = /(?:^|, |\band )I ((?:am|go by) \p{Lu}.*|changed my name.*)$/u.exec(text)?.[1]
  return predicate === undefined ? undefined : ownName(predicate, { words: wordsOf(text) })
}

const isOfPerson = (words: ReadonlyArray<Word>): boolean => words.some(({ tags }) => tags.has("Person"))

const calledName = (text: string): string | undefined => {
  const found = called.exec(text)?.[1]
  return found !== undefined && /^\p{Lu}/u.test(found) ? found.replace(/ (?:[a-z].*)$/, "") : undefined
}

const hereName = (text: string): string | undefined => {
  const match = here.exec(text)
  return match?.[1] ?? match?.[2] ?? match?.[3]
}

const swapOf = (text: string): { readonly right: string; readonly wrong: string } | undefined => {
  const one = swapped.exec(text)
  if (one?.[1] !== undefined && one[2] !== undefined) return { right: one[1], wrong: one[2] }
  const other = swappedBack.exec(text)
  return other?.[1] !== undefined && other[2] !== undefined ? { right: other[2], wrong: other[1] } : undefined
}

/** `it is Bob, not Rob`: renames the person. */
export const correctedName = (text: string, people: People): Finding | undefined => {
  const swap = swapOf(text)
  if (swap === undefined) return undefined
  if (people.speakerName === swap.right || people.speakerName === swap.wrong) {
    people.wrongNames.add(swap.wrong)
    people.speakerName = swap.right
    return speakerNamed(swap.right, "correction")
  }
  const person = people.named(swap.wrong)
  if (person === undefined) return undefined
  person.name = swap.right
  const whose = person.relation === undefined ? swap.wrong : `${people.speakerHead}'s ${person.relation}`
  return { rule: "correction", type: "fact", subject: people.speaker, text: `${whose} is called ${swap.right}` }
}

/** `call me Al`, `Bob here`. */
export const nameFragment = (text: string, words: ReadonlyArray<Word>, people: People): Finding | undefined => {
  const introduced = hereName(text)
  const found = calledName(text) ?? (isOfPerson(words) || introduced === people.speakerName ? introduced : undefined)
  if (found === undefined) return undefined
  people.speakerName = found
  return speakerNamed(found, "nameFragment")
}

const speakerNamed = (name: string, rule: Finding["rule"]): Finding => ({
  rule,
  type: "fact",
  subject: name,
  text: `The user's name is ${name}`,
  attribute: "name",
  entity: { type: "speaker", id: "speaker", fields: { name } }
})

/**
 * People, pets, events, purchases and medicines with the fields that a sentence states, for
 * kinds that the user registered. Every value is in the text or follows from it and the date of the
 * conversation; fields of one entity are joined over the sentences of a request.
 */
import { stopWords } from "@muniment/engine/text/StopWords"
import { takings } from "./lexicon/speech.ts"
import { oneOf } from "../text/OneOf.ts"
import type { EventDate } from "./EventDate.ts"
import { type Entity, speakerEntity } from "./Finding.ts"
import { petWords, type People } from "./People.ts"

/** An entity with its source messages, in order. */
export interface KnownEntity {
  readonly type: Entity["type"]
  readonly fields: Record<string, string | ReadonlyArray<string>>
  readonly sources: Array<number>
}

export class Entities {
  readonly #byId = new Map<string, KnownEntity>()

  /** The first value stays, except for the speaker, whose newest statement wins. */
  add(entity: Entity, source: number): void {
    const key = `${entity.type} ${entity.id.toLowerCase()}`
    const known = this.#byId.get(key) ?? { type: entity.type, fields: {}, sources: [] }
    for (const [name, value] of Object.entries(entity.fields)) {
      if (value === "" || (name in known.fields && entity.type !== "speaker")) continue
      known.fields[name] = value
    }
    if (!known.sources.includes(source)) known.sources.push(source)
    this.#byId.set(key, known)
  }

  /** A corrected thing replaces the earlier one; a cancelled one goes. */
  correct({ id, type }: Entity, corrected: Entity | undefined, day: string | undefined, source: number): void {
    const key = `${type} ${id.toLowerCase()}`
    const known = this.#byId.get(key)
    if (known === undefined) return
    if (corrected === undefined) return void this.#byId.delete(key)
    Object.assign(known.fields, corrected.fields, day === undefined ? {} : { date: day, start: day })
    if (day !== undefined) delete known.fields["end"]
    if (!known.sources.includes(source)) known.sources.push(source)
  }

  /** What is known of the speaker carries their name, wherever the thread states it. */
  all(speakerName: string | undefined): ReadonlyArray<KnownEntity> {
    const known = [...this.#byId.values()]
    return speakerName === undefined
      ? known
      : known.map((entity) =>
          entity.type === "speaker" ? { ...entity, fields: { name: speakerName, ...entity.fields } } : entity
        )
  }
}

/** What `text`, one statement, says by its form alone. */
export const entitiesIn = (text: string, people: People, dates: ReadonlyArray<EventDate>): ReadonlyArray<Entity> => [
  ...contactsIn(text, people),
  ...petsIn(text, people),
  ...purchasesIn(text, dates),
  ...medicinesIn(text)
]

const email = /[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}/
const phone = /(?:\+\d{1,3}[ .-]?)?\(?\d{2,5}\)?(?:[ .-]?\d{2,5}){2,4}/
const personName = /\p{Lu}[\p{L}'-]+(?: (?:\p{Lu}\.|\p{Lu}[\p{L}'-]+)){1,2}/gu
const company = /\b(?:at|from|of|works for|with) (\p{Lu}[\w&'-]+(?: \p{Lu}[\w&'-]+){0,3})/u

const contactsIn = (text: string, people: People): ReadonlyArray<Entity> => {
  const address = email.exec(text)?.[0]
  const number = phone.exec(address === undefined ? text : text.replace(address, " "))?.[0]
  if (
    address === undefined &&
    (number === undefined || !/\b(?:phone|number|call|reach|cell|mobile|text|whatsapp|on \+?\d)\b/i.test(text))
  )
    return []
  const fields = {
    ...(address === undefined ? {} : { email: address }),
    ...(number === undefined ? {} : { phone: number.trim() })
  }
  if (
    /\b(?:my (?:new |work |personal |private )?(?:e-?mail|address|number|phone|cell|mobile)|(?:reach|email|call|contact|text|write(?: to)?) me)\b/i.test(
      text
    ) ||
    /^(?:e-?mail|phone|number)(?: address| number)? (?:is|:)/i.test(text)
  ) {
    return [speakerEntity(people, fields)]
  }
  const named = [...text.matchAll(personName)]
    .map(([name]) =>
      name.replace(/'s?$/, "").replace(/^(?:Reach|Call|Text|Email|Contact|Phone|Ring|Message|Write) /, "")
    )
    .find((name) => !address?.includes(name))
  const pronoun = /\b(?:her|his)\b/i.exec(text)?.[0].toLowerCase()
  const meant = pronoun === undefined ? undefined : people.meantBy(pronoun === "her" ? "she" : "he")?.name
  const relation = /\b[Mm]y [\p{L} ]+? (\p{Lu}[\p{L}'-]+)/u.exec(text)?.[1]
  const name = named ?? relation ?? meant ?? /^(\p{Lu}[\p{L}'-]+)(?:'s|,| is| can)/u.exec(text)?.[1]
  const told = company.exec(text)?.[1]
  const employer = told === undefined || told === name ? undefined : told
  return name === undefined || name === people.speakerName || stopWords.has(name.toLowerCase())
    ? []
    : [{ type: "person", id: name, fields: { name, ...fields, ...(employer === undefined ? {} : { employer }) } }]
}

const petList = petWords.join("|")
const petNamed = new RegExp(
  `\\b((?:[\\w-]+ ){0,2})(${petList}),? (?:(?:is |was )?(?:called|named)|whose name is) (\\p{Lu}[\\p{L}'-]+)(?:,? (?:an? )?((?:\\p{Lu}[\\p{L}'-]+ ?){1,3}))?`,
  "u"
)
const petApposed = new RegExp(
  `\\b(?:[Mm]y|[Oo]ur|[Tt]he) ((?:[\\w-]+ )?)(${petList}),? (?:is )?(\\p{Lu}[\\p{L}'-]+)`,
  "u"
)
const petOf = new RegExp(
  `\\b(\\p{Lu}[\\p{L}'-]+),? (?:is |was )?(?:my|our|an?|the) ((?:[\\w-]+ ){0,3}?)(${petList})\\b`,
  "u"
)

/** Species of a breed or a young animal; a breed is also kept as such. */
const species: ReadonlyArray<readonly [string, RegExp]> = [
  [
    "dog",
    /^(?:dog|puppy|retriever|labrador|poodle|beagle|corgi|terrier|spaniel|dachshund|bulldog|husky|collie|shepherd|greyhound|whippet)$/
  ],
  ["cat", /^(?:cat|kitten|tabby)$/],
  ["bird", /^(?:bird|budgie|parrot|canary|cockatiel)$/],
  ["fish", /^(?:fish|goldfish)$/],
  ["rabbit", /^(?:rabbit|bunny)$/],
  ["horse", /^(?:horse|pony)$/]
]

const kindOf = (word: string, qualities: string): { readonly species: string; readonly breed?: string } => {
  const known = species.find(([, pattern]) => pattern.test(word))?.[0]
  if (known === undefined || /^(?:puppy|kitten|bunny|pony)$/.test(word) || known === word)
    return { species: known ?? word }
  const breed = /(?:(?!My|Our|The)\p{Lu}[\p{L}-]+|golden|border|black|french) $/u.exec(qualities)?.[0] ?? ""
  return { species: known, breed: `${breed}${word}` }
}

const petPair = new RegExp(
  `\\b(?:two |our |my )(?:[\\w-]+ )?(${petList})s?,? (?:are )?(?:called |named )?(\\p{Lu}[\\p{L}'-]+) and (\\p{Lu}[\\p{L}'-]+)`,
  "u"
)
const petByBreed = new RegExp(
  `\\b(\\p{Lu}[\\p{L}'-]+), (?:an? )(?:(\\d{1,2})[- ]years?[- ]old )?((?:[\\w-]+ ){0,2})(${petList})\\b`,
  "u"
)

const petsIn = (text: string, people: People): ReadonlyArray<Entity> => {
  const pair = petPair.exec(text)
  if (pair?.[1] !== undefined && pair[2] !== undefined && pair[3] !== undefined) {
    const kind = kindOf(pair[1].toLowerCase(), "")
    return [pair[2], pair[3]].map((name): Entity => ({ type: "pet", id: name, fields: { name, ...kind } }))
  }
  const apposed = petByBreed.exec(text)
  if (apposed?.[1] !== undefined && apposed[4] !== undefined) {
    const [, name, age, qualities = "", word] = apposed
    const kind = kindOf(word.toLowerCase(), qualities)
    return [{ type: "pet", id: name, fields: { name, ...kind, ...(age === undefined ? {} : { age }) } }]
  }
  const named = petNamed.exec(text) ?? petApposed.exec(text)
  const turned = named === null ? petOf.exec(text) : null
  const name = named?.[3] ?? turned?.[1]
  const word = (named?.[2] ?? turned?.[3])?.toLowerCase()
  const age = ageIn(text)
  if (name === undefined || word === undefined || /^(?:She|He|It|They|This|That|There)$/.test(name))
    return laterAge(text, people, age)
  const kind = kindOf(word, named?.[1] ?? turned?.[2] ?? "")
  const breed = named?.[4]?.trim()
  const about = { name, ...kind, ...(age === undefined ? {} : { age }), ...(breed === undefined ? {} : { breed }) }
  return [{ type: "pet", id: name, fields: about }]
}

const numbers = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen".split(
  " "
)
const stated = new RegExp(
  `\\b(\\d{1,2}|${numbers.slice(1).join("|")})[- ](?:years?|yrs?)[- ]old\\b|\\bis (?:now |almost )?(\\d{1,2}|${numbers.slice(1).join("|")})(?=[,.!]|$)`,
  "i"
)

const ageIn = (text: string): string | undefined => {
  const found = stated.exec(text)
  const age = (found?.[1] ?? found?.[2])?.toLowerCase()
  const spelled = age === undefined ? -1 : numbers.indexOf(age)
  return spelled > 0 ? String(spelled) : age
}

/** `He is 22` after a pet was named. */
const laterAge = (text: string, people: People, age: string | undefined): ReadonlyArray<Entity> => {
  const told = age ?? /^(?:he|she|it) is (?:about )?(\d{1,2})(?: years old)?[.!]?$/i.exec(text)?.[1]
  const pronoun = /^(he|she|it)\b/i.exec(text)?.[1]
  const person = pronoun === undefined ? undefined : people.meantBy(pronoun)
  const name = person?.isPet === true ? person.name : undefined
  return told === undefined || name === undefined ? [] : [{ type: "pet", id: name, fields: { name, age: told } }]
}

const money =
  /(?:([$€£])\s?(\d[\d,]*(?:\.\d{1,2})?)(k)?|(\d[\d,]*(?:\.\d{1,2})?) ?(dollars|bucks|usd|euros?|eur|pounds|quid|gbp))/i
const currencies: Readonly<Record<string, string>> = {
  $: "USD",
  dollars: "USD",
  bucks: "USD",
  usd: "USD",
  "€": "EUR",
  euro: "EUR",
  euros: "EUR",
  eur: "EUR",
  "£": "GBP",
  pounds: "GBP",
  quid: "GBP",
  gbp: "GBP"
}
const bought =
  /\b(?:I|we|have|just|finally) (?:\w+ ){0,2}?(?:bought|purchased|ordered|picked up|got) (?:(?:an?|the|some|two|my|our) )?(.+?)(?= (?:for|from|at|on|yesterday|today|last|this|in|off|and)\b|[,.;!-]|$)/i
const spent =
  /\b(?:spent|paid|dropped|shelled out) [^ ]+(?: \w+)? (?:on|for) (?:an? |the |some |my |our )?(.+?)(?= (?:from|at|on|yesterday|today|last|this|in)\b|[,.;!]|$)/i

const purchasesIn = (text: string, dates: ReadonlyArray<EventDate>): ReadonlyArray<Entity> => {
  const item = (spent.exec(text) ?? bought.exec(text))?.[1]
  if (item === undefined || /\bnot\b/i.test(text)) return []
  const sum = money.exec(text)
  const amount = sum?.[2] ?? sum?.[4]
  const currency = currencies[(sum?.[1] ?? sum?.[5] ?? "").toLowerCase()]
  const store = /\b(?:at|from) ((?:the )?\p{Lu}[\p{L}'&-]*(?: \p{Lu}[\p{L}'&-]*){0,3})/u.exec(text)?.[1]
  const date = dates.find(({ start }) => start !== undefined)?.start
  const fields = {
    item,
    ...(amount === undefined ? {} : { price: amount.replaceAll(",", "") }),
    ...(currency === undefined ? {} : { currency }),
    ...(store === undefined ? {} : { store }),
    ...(date === undefined ? {} : { date })
  }
  return [{ type: "purchase", id: item, fields }]
}

const dose = /\b(\d+(?:\.\d+)? ?(?:mg|mcg|µg|ml|g|iu|units|puffs|tablets?|pills?))\b/i
const medicine = oneOf(takings, {
  before: String.raw`\b`,
  after: String.raw` (?:a |the |my )?(?:(?:low|high|daily) dose of )?(?:\d+(?:\.\d+)? ?(?:mg|mcg|µg|ml|g|iu|units|puffs|tablets?|pills?)(?: of)? )?(\p{L}[\p{L}-]{2,}(?: [A-Z]\d{0,2}\b)?)`,
  flags: "iu"
})
const frequencies: ReadonlyArray<readonly [RegExp, string]> = [
  [/\b(?:twice (?:a day|daily)|two times a day|morning and (?:evening|night))\b/i, "twice daily"],
  [/\b(?:as needed|when needed|when I need)\b/i, "as needed"],
  [/\b(?:weekly|once a week|every week|once weekly)\b/i, "weekly"],
  [
    /\b(?:daily|once a day|every (?:day|morning|evening|night)|each (?:day|morning|night)|at bedtime|nightly)\b/i,
    "daily"
  ],
  [/\b(?:three times (?:a day|daily))\b/i, "three times daily"]
]

/** `75 mcg of this daily and 1000 IU of that weekly` is two. */
const medicinesIn = (text: string): ReadonlyArray<Entity> => {
  const [first = "", ...more] = text.split(/(?:,| and) (?=\d)/)
  if (!dose.test(first)) return medicineIn(text)
  const others = more.filter((part) => dose.test(part)).flatMap((part) => medicineIn(`take ${part}`))
  return others.length === 0 ? medicineIn(text) : [...medicineIn(first), ...others]
}

const medicineIn = (text: string): ReadonlyArray<Entity> => {
  const name = medicine.exec(text)?.[1]
  const amount = dose.exec(text)?.[1]
  const frequency = frequencies.find(([pattern]) => pattern.test(text))?.[1]
  if (name === undefined || (amount === undefined && frequency === undefined)) return []
  if (
    /^(?:the|twice|once|daily|weekly|care|some|two|one|bus|train|classes|lessons|part|time|place|off|home|and|every|holiday|vacation|call|days?)$/i.test(
      name
    )
  )
    return []
  const reason = /\bfor (?:my |her |his )?([\p{L} -]+?)(?=[,.;]|$| (?:every|twice|once|daily)\b)/u.exec(text)?.[1]
  const fields = {
    name,
    ...(amount === undefined ? {} : { dose: amount }),
    ...(frequency === undefined ? {} : { frequency }),
    ...(reason === undefined ? {} : { reason })
  }
  return [{ type: "medication", id: name, fields }]
}

/**
 * People, pets and events with the fields that findings state, for kinds that the user registered, and contact data by
 * their form. Every value is in the text or follows from it and the date of the conversation; fields of one entity are
 * joined over the sentences of a request.
 */
import { stopWords } from "@muniment/language/text/Language"
import { type Entity, type Finding, speakerEntity } from "./Finding.ts"
import type { People } from "./People.ts"

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

const email = /[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}/
const phone = /(?:\+\d{1,3}[ .-]?)?\(?\d{2,5}\)?(?:[ .-]?\d{2,5}){2,4}/
const personName = /\p{Lu}[\p{L}'-]+(?: (?:\p{Lu}\.|\p{Lu}[\p{L}'-]+)){1,2}/gu
const company = /\b(?:at|from|of|works for|with) (\p{Lu}[\w&'-]+(?: \p{Lu}[\w&'-]+){0,3})/u

/** Whose address or number `text`, one statement, says. */
export const contactsIn = (text: string, people: People): ReadonlyArray<Entity> => {
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

const labels = [
  ["email", "email address"],
  ["phone", "phone number"]
] as const

export const contactFindings = (text: string, people: People): ReadonlyArray<Finding> =>
  contactsIn(text, people).flatMap((entity) => {
    if (entity.type !== "speaker" && entity.type !== "person") return []
    const { name } = entity.fields
    const subject = entity.type === "speaker" ? people.speaker : name
    const head = entity.type === "speaker" ? people.speakerHead : name
    if (typeof subject !== "string") return []
    return labels.flatMap(([key, label]): ReadonlyArray<Finding> => {
      const value = entity.fields[key]
      if (typeof value !== "string") return []
      return [{ rule: "contact", type: "fact", subject, text: `${String(head)}'s ${label} is ${value}`, entity }]
    })
  })

/** Whether `told` contains the value that `fact` ends with. */
export const sharesValue = (told: string, fact: string): boolean => told.includes(fact.split(" is ").at(-1) ?? fact)

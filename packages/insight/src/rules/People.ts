/**
 * People of a conversation: its speaker (the user) and the people and pets named so far. A person
 * without a name goes by the relation (`Alice's sister`). Grows with the conversation, bounded.
 */
import { rulesLimits } from "./RulesProtocol.ts"
import { type Gender, genderOf, isPet, isPluralRelation, isRelation } from "@muniment/language/people/Relations"

export interface Person {
  name: string | undefined
  /** `sister`, `dog`, `boss`, in the speaker's words; undefined for a person known by name only. */
  readonly relation: string | undefined
  readonly gender: Gender | undefined
  readonly isPlural: boolean
  readonly isPet: boolean
}

export class People {
  /** Id of the speaker as an entity; `speaker` for one whom the request does not name. */
  readonly speakerId: string
  /** The user's name, once known. */
  speakerName: string | undefined = undefined
  /** Names that were corrected: what was said under them is not repeated. */
  readonly wrongNames = new Set<string>()
  readonly #known: Array<Person> = []
  #current: Array<Person> = []
  #previous: ReadonlyArray<Person> = []
  #introduced: Array<Person> = []
  #strangers: Array<string> = []

  constructor(speakerId = "speaker") {
    this.speakerId = speakerId
  }

  /** As `subject` of a candidate. */
  get speaker(): string {
    return this.speakerName ?? "user"
  }

  /** At the head of a sentence. */
  get speakerHead(): string {
    return this.speakerName ?? "The user"
  }

  /** Inside a sentence. */
  get speakerInside(): string {
    return this.speakerName ?? "the user"
  }

  named(name: string): Person | undefined {
    return this.#known.find((person) => person.name?.toLowerCase() === name.toLowerCase())
  }

  related(relation: string): Person | undefined {
    return this.#known.findLast((person) => person.relation?.toLowerCase() === relation.toLowerCase())
  }

  /** Finds the person and adds a name or relation; a new one is not kept when the list is full. */
  meet(name: string | undefined, relation: string | undefined, gender?: Gender): Person {
    const byName = name === undefined ? undefined : this.named(name)
    if (byName !== undefined && (relation === undefined || byName.relation !== undefined)) return byName
    const byRelation = relation === undefined ? undefined : this.related(relation)
    if (byRelation !== undefined && (name === undefined || byRelation.name === undefined)) {
      byRelation.name = name ?? byRelation.name
      return byRelation
    }
    const head = relation?.split(" ").at(-1)
    const person = {
      name,
      relation,
      gender: genderOf(relation) ?? gender,
      isPlural: head !== undefined && isPluralRelation(head),
      isPet: head !== undefined && isPet(head)
    }
    if (this.#known.length < rulesLimits.peopleMax) this.#known.push(person)
    return person
  }

  /** As `subject` of a candidate. */
  subject(person: Person): string {
    return person.name ?? `${this.speaker}'s ${person.relation ?? "acquaintance"}`
  }

  /** In sentences about the person. */
  label(person: Person): string {
    return person.name ?? `${this.speakerInside}'s ${person.relation ?? "acquaintance"}`
  }

  /** A new message begins: a pronoun means the relative that the question before it names, or no person named before. */
  nextMessage(question: string | undefined): void {
    this.#current = []
    this.#previous = []
    this.#introduced = []
    if (question === undefined) return
    for (const [, relation = ""] of question.matchAll(/\byour ([a-z-]+)\b(?!'s)/g)) {
      if (isRelation(relation)) this.#current = [this.related(relation) ?? this.meet(undefined, relation)]
    }
  }

  /** Named as an object: a pronoun means them from the next sentence on. */
  introduce(person: Person): Person {
    this.#introduced.push(person)
    return person
  }

  /** Somebody else was named: in this sentence and the next a pronoun means no known person. */
  mentionStranger(name: string): void {
    this.#strangers.push(name)
  }

  /** A new sentence begins: pronouns look one sentence back. */
  nextSentence(): void {
    for (const person of this.#introduced) this.mention(person)
    this.#introduced = []
    if (this.#isUnclear()) this.#previous = this.#current = []
    this.#strangers = []
    if (this.#current.length > 0) this.#previous = this.#current
    this.#current = []
  }

  mention(person: Person): Person {
    if (!this.#current.includes(person)) this.#current.push(person)
    return person
  }

  /** The person that a pronoun means, if only one fits. */
  meantBy(pronoun: string): Person | undefined {
    if (this.#isUnclear()) return undefined
    for (const recent of [this.#current, this.#previous]) {
      const fitting = recent.filter((person) => fits(pronoun.toLowerCase(), person))
      if (fitting.length > 0) return fitting.length > 1 ? undefined : fitting[0]
    }
    return undefined
  }

  /** The name may have been introduced since. */
  #isUnclear(): boolean {
    return this.#strangers.some((name) => this.named(name) === undefined)
  }

  all(): ReadonlyArray<Person> {
    return this.#known
  }
}

const fits = (pronoun: string, person: Person): boolean => {
  if (pronoun === "they") return person.isPlural || person.gender === undefined
  if (person.isPlural) return false
  if (pronoun === "it") return person.isPet
  return person.gender === undefined || person.gender === (pronoun === "she" ? "female" : "male")
}

const summaryLengthMax = 2_000

export const peopleOfSummary = (summary: string, people: People): void => {
  for (const line of summary.slice(0, summaryLengthMax).split("\n")) {
    const match = /^user's ([\p{L} -]{1,40}): (\p{L}[\p{L}' -]{0,63})$/u.exec(line.trim())
    if (match?.[1] === undefined || match[2] === undefined) continue
    if (match[1] === "name") people.speakerName = match[2]
    else people.meet(match[2], match[1])
  }
}

/** Keeps other lines of the earlier summary, oldest first, while there is room. */
export const nextSummary = (earlier: string | undefined, people: People): string | undefined => {
  const own = [
    ...(people.speakerName === undefined ? [] : [`user's name: ${people.speakerName}`]),
    ...people
      .all()
      .flatMap(({ name, relation }) =>
        name === undefined || relation === undefined ? [] : [`user's ${relation}: ${name}`]
      )
  ]
  const kept = (earlier ?? "")
    .split("\n")
    .filter((line) => line.trim() !== "" && !line.startsWith("user's name:") && !own.includes(line))
  const lines: Array<string> = []
  for (const line of [...own, ...kept]) {
    if (lines.join("\n").length + line.length + 1 > summaryLengthMax) break
    lines.push(line)
  }
  return lines.length === 0 ? undefined : lines.join("\n")
}

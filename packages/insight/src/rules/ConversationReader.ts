/**
 * Extraction by rules, as one pure function: messages in, candidates out, the same for the same input.
 * Only the user's own words state facts; what assistants and systems say is context. Every sentence
 * passes the gate, is cut into clauses, and the first rule family that knows a clause tells what it is.
 */
import { redatings, statementStarts } from "./lexicon/speech.ts"
import { oneOf } from "./OneOf.ts"
import type { DroppedCandidate, Extraction, Turn } from "../extraction/Extractor.ts"
import { candidatesOf, isBuiltin } from "./Candidates.ts"
import { clausesOf } from "./Clauses.ts"
import type { RuleName } from "./Confidence.ts"
import { Entities, entitiesIn } from "./Entities.ts"
import { bareAnswer, lastQuestion } from "./ShortAnswers.ts"
import { eventDates } from "./EventDates.ts"
import { eventRules, namesOccasion, occasionIn } from "./EventRules.ts"
import { factRules } from "./FactRules.ts"
import { factOf, type Finding, type RuleFamily, type Scene, type SourcedFinding } from "./Finding.ts"
import { identityRules } from "./IdentityRules.ts"
import { messageText } from "./MessageText.ts"
import { contactFindings, sharesValue } from "./ContactFindings.ts"
import { correctedName, learnNames, nameFragment, nicknameOf } from "./Names.ts"
import { signed } from "./Paraphrases.ts"
import { People } from "./People.ts"
import { belovedThing, preferenceRules } from "./PreferenceRules.ts"
import { relationFindings } from "./RelationRules.ts"
import { rulesLimits, type RulesTask } from "./RulesProtocol.ts"
import { gate, startsRolePlay } from "./SentenceGate.ts"
import { nextSummary, peopleOfSummary } from "./Summary.ts"
import { type Word, wordsOf, writtenOut } from "./Words.ts"

const families: ReadonlyArray<RuleFamily> = [eventRules, identityRules, preferenceRules, factRules]

export const readConversation = (task: RulesTask): Extraction => {
  const people = new People()
  people.speakerName = task.speakerName
  if (task.summary !== undefined) peopleOfSummary(task.summary, people)
  const context = task.context.slice(-rulesLimits.contextMessagesMax)
  learnNames([...context, ...task.messages.slice(0, rulesLimits.messagesMax)], people)
  for (const turn of context) if (turn.role === "user") learnPeople(turn, people)
  const reader = new Reader(task, people)
  task.messages.slice(0, rulesLimits.messagesMax).forEach((turn, source) => reader.read(turn, source))
  const { candidates, dropped } = candidatesOf(reader.findings, reader.entities.all(people.speakerName), task.kinds)
  return {
    candidates: candidates.slice(0, rulesLimits.candidatesMax),
    dropped: [...unread(task), ...reader.dropped, ...dropped].slice(0, rulesLimits.droppedMax),
    summary: nextSummary(task.summary, people)
  }
}

const unread = ({ messages }: RulesTask): ReadonlyArray<DroppedCandidate> =>
  messages.length <= rulesLimits.messagesMax
    ? []
    : [{ reason: "unsupported", message: "more messages than are read at once", sources: [rulesLimits.messagesMax] }]

const learnPeople = (turn: Turn, people: People): void => {
  for (const sentence of messageText(turn.content).sentences) relationFindings(writtenOut(sentence), people)
}

class Reader {
  readonly findings: Array<SourcedFinding> = []
  readonly dropped: Array<DroppedCandidate> = []
  readonly entities = new Entities()
  readonly #task: RulesTask
  readonly #unnamed: People
  /** Of those whom the request names; each has relatives of their own. */
  readonly #named = new Map<string, People>()
  #people: People
  #question: string | undefined
  #sentencesRead = 0
  #plays = false
  /** The day of the message that is read. */
  #day: string
  /** The day spoken of last: `on the 14th` is in its month. */
  #anchor: string | undefined

  constructor(task: RulesTask, people: People) {
    this.#task = task
    this.#unnamed = people
    this.#people = people
    this.#day = task.conversationDate
    this.#question = lastQuestion(task.context.at(-1))
  }

  read(turn: Turn, source: number): void {
    const question = this.#question
    this.#question = lastQuestion(turn)
    if (turn.role !== "user") return
    this.#begin(dayOf(turn) ?? this.#task.conversationDate)
    this.#people = this.#speaking(turn)
    const { omitted, sentences } = messageText(turn.content)
    for (const message of omitted) this.#drop("unsupported", message, source)
    const last = sentences.length - 1
    const answer = question === undefined ? undefined : bareAnswer(question, sentences[0])
    if (answer !== undefined) this.#sentence(answer, source, "shortAnswer")
    sentences.forEach((sentence, at) => {
      if (at > 0 || answer === undefined) this.#sentence(at > 0 && at === last ? signed(sentence) : sentence, source)
    })
  }

  #begin(day: string): void {
    if (day !== this.#day) this.#anchor = undefined
    this.#day = day
  }

  #speaking({ name }: Turn): People {
    if (name === undefined || name === this.#unnamed.speakerName) return this.#unnamed
    const known = this.#named.get(name) ?? new People(`speaker ${name}`)
    known.speakerName = name
    this.#named.set(name, known)
    return known
  }

  #sentence(sentence: string, source: number, as?: RuleName): void {
    this.#people.nextSentence()
    if (startsRolePlay(writtenOut(sentence))) this.#plays = true
    if (
      /\b(?:out of character|stop the role ?play|end (?:of )?(?:the )?role ?play|back to reality|for real now)\b/i.test(
        sentence
      )
    )
      this.#plays = false
    if (this.#plays) return this.#drop("unsupported", "role play", source)
    const verdict = gate(writtenOut(sentence))
    if (!verdict.states) {
      if (verdict.reason !== "small_talk") this.#drop(verdict.reason, verdict.message, source)
      return
    }
    this.#learnEntities(verdict.text, source)
    if (!speaksOfSomebody(verdict.text, this.#people) && !redating.test(verdict.text)) return
    if (this.#sentencesRead++ >= rulesLimits.sentencesReadMax) {
      return this.#drop("unsupported", "more sentences than are read at once", source)
    }
    if (this.#redated(verdict.text, source)) return
    const words = wordsOf(verdict.text)
    const before = this.findings.length
    const keep = (finding: Finding) => {
      if (finding.entity !== undefined) this.entities.add(finding.entity, source)
      void this.findings.push({
        finding: as === undefined ? finding : { ...finding, rule: as },
        source,
        words,
        sentence,
        people: this.#people
      })
    }
    for (const finding of this.#findingsOf(verdict.text, words, verdict.isAsked, source)) keep(finding)
    if (verdict.isAsked && this.findings.length === before) this.#drop("unsupported", "no rule knows this fact", source)
  }

  /** `I meant the 14th`: the event told last was on another day. */
  #redated(text: string, source: number): boolean {
    const told = redating.exec(text)?.[1]
    const last = this.findings.at(-1)
    const before = last?.finding.eventDate
    if (told === undefined || last === undefined || before === undefined) return false
    const anchor = before.slice(0, 7) === this.#day.slice(0, 7) ? undefined : `${before.slice(0, 7)}-01`
    const spoken = /^the \d/.test(told) ? `on ${told}` : told
    const start = eventDates(spoken, this.#day, "future", anchor).find((date) => date.start)?.start
    if (start === undefined) return false
    const { endDate: _, ...finding } = last.finding
    this.findings[this.findings.length - 1] = { ...last, finding: { ...finding, eventDate: start } }
    if (last.finding.entity !== undefined) this.entities.redate(last.finding.entity, start, source)
    return true
  }

  #findingsOf(text: string, words: ReadonlyArray<Word>, isAsked: boolean, source: number): ReadonlyArray<Finding> {
    const people = this.#people
    const special = correctedName(text, people) ?? nameFragment(text, words, people)
    if (special !== undefined) return [special]
    const nickname = nicknameOf(text, people)
    const relations = relationFindings(text, people)
    const { clauses, hasUnresolvedPronoun } = clausesOf(words, people)
    if (hasUnresolvedPronoun) this.#drop("unsupported", "it is not clear who is meant", source)
    const told = clauses.flatMap((clause) => {
      const isBooking =
        /^(?:have |has |just )*(?:booked|reserved|scheduled|arranged|got tickets|bought tickets)\b/.test(
          clause.predicate
        )
      const side = clause.tense === "past" && !isBooking ? "past" : "future"
      const dates = eventDates(clause.predicate, this.#day, side, this.#anchor)
      this.#anchor = dates.find(({ start }) => start !== undefined)?.start ?? this.#anchor
      const scene: Scene = { clause, people, dates, isAsked }
      for (const family of families) {
        const found = family(scene)
        if (found !== undefined) return found
      }
      return isAsked ? [factOf(scene, "asked")] : []
    })
    const found = [...relations, ...(nickname === undefined ? [] : [nickname]), ...told]
    if (clauses.length === 0 || told.length === 0) found.push(...this.#fragments(text))
    const contacts = contactFindings(text, people)
    return [...found, ...contacts.filter(({ text: fact }) => !told.some((other) => sharesValue(other.text, fact)))]
  }

  /** Statements without a person: `The offsite is on 9 July`, `Green tea is my thing`. */
  #fragments(text: string): ReadonlyArray<Finding> {
    const people = this.#people
    const dates = eventDates(text, this.#day, "future", this.#anchor)
    return occasionIn(text, dates, people, this.#day) ?? belovedThing(text, people) ?? []
  }

  /** Needed by registered kinds only. */
  #learnEntities(text: string, source: number): void {
    if (!this.#task.kinds.some(({ name }) => !isBuiltin(name))) return
    const side = /\b(?:bought|purchased|ordered|spent|paid|was|got)\b/i.test(text) ? "past" : "future"
    const dates = eventDates(text, this.#day, side)
    for (const entity of entitiesIn(text, this.#people, dates)) this.entities.add(entity, source)
  }

  #drop(reason: DroppedCandidate["reason"], message: string, source: number): void {
    const isKnown = this.dropped.some((drop) => drop.message === message && drop.sources[0] === source)
    if (!isKnown && this.dropped.length < rulesLimits.droppedMax)
      this.dropped.push({ reason, message, sources: [source] })
  }
}

/** The day in UTC. */
const dayOf = ({ sentAt }: Turn): string | undefined => {
  const millis = sentAt === undefined ? Number.NaN : Date.parse(sentAt)
  return Number.isNaN(millis) ? undefined : new Date(millis).toISOString().slice(0, "2026-01-31".length)
}

const redating = oneOf(redatings, {
  before: String.raw`^(?:I (?:meant|mean)|make (?:that|it)|(?:it|that) (?:is|should be)(?: actually| on)?|rather|it has (?:been )?moved to|moved to|not [\w ]{2,20}, but) (`,
  after: ")(?:,? not .*| instead)?[.!]?$",
  flags: "u"
})

/** A cheap test before the tagger: skips sentences about no person. */
const speaksOfSomebody = (text: string, people: People): boolean =>
  /\b(?:I|my|me|we|our|he|she|they|his|her|it is|here|again|speaking|name)\b|\w@\w/i.test(text) ||
  /\p{Lu}[\p{L}'-]+ (?:\p{Ll}+(?:s|ed|t)\b|is|has|was|'s)/u.test(text) ||
  oneOf(statementStarts, { before: "^", flags: "i" }).test(text) ||
  namesOccasion(text) ||
  people.all().some(({ name }) => name !== undefined && text.includes(name))

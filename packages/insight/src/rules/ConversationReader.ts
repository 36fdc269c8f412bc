/**
 * Extraction by rules, as one pure function: messages in, candidates out, the same for the same input.
 * Only the user's own words state facts; what assistants and systems say is context. Every sentence
 * passes the gate, is cut into clauses, and the first rule family that knows a clause decides what it is.
 */
import { statementStarts } from "./lexicon/speech.ts"
import { bookings, signings } from "./lexicon/events.ts"
import { oneOf } from "@muniment/language/text/OneOf"
import { anywhere } from "./Pattern.ts"
import { dayOfTurn, type DroppedCandidate, type Extraction, type Turn } from "../extraction/Extractor.ts"
import { candidatesOf, passesGate } from "./Candidates.ts"
import { type Clause, clausesOf } from "./Clauses.ts"
import { asSaid, factOf, type Finding, type RuleFamily, type Scene, type SourcedFinding } from "./Finding.ts"
import type { RuleName } from "./lexicon/rules.ts"
import { contactFindings, Entities, sharesValue } from "./Entities.ts"
import { bareAnswer, lastQuestion, messageText } from "./MessageText.ts"
import { type DateSide, eventDates } from "@muniment/language/calendar/EventDates"
import { eventRules, namesOccasion, occasionIn } from "./EventRules.ts"
import { factRules } from "./FactRules.ts"
import { correctedName, identityRules, learnNames, nameFragment } from "./IdentityRules.ts"
import { afterCorrection, correctionsIn, denies } from "./Corrections.ts"
import { preferenceRules, standingInstruction } from "./PreferenceRules.ts"
import { nextSummary, People, peopleOfSummary } from "./People.ts"
import { mentionRelatives, presupposed, relationFindings } from "./RelationRules.ts"
import { rulesLimits, type RulesTask } from "./RulesProtocol.ts"
import { barred, gate, type Stop } from "./SentenceGate.ts"
import { isOver, isWithdrawal, negatorsIn, statementsOf } from "@muniment/language/speech/Mood"
import { writtenOut } from "@muniment/language/speech/WrittenOut"
import { type Word, wordsOf } from "./Words.ts"

const families: ReadonlyArray<RuleFamily> = [eventRules, identityRules, preferenceRules, factRules]

export const readConversation = (task: RulesTask): Extraction => {
  const people = new People()
  people.speakerName = task.speakerName
  if (task.summary !== undefined) peopleOfSummary(task.summary, people)
  const context = task.context.slice(-rulesLimits.contextMessagesMax)
  learnNames([...context, ...task.messages.slice(0, rulesLimits.messagesMax)], people)
  const reader = new Reader(task, people)
  for (const turn of context) if (turn.role === "user") reader.learnPeople(turn)
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

class Reader {
  findings: Array<SourcedFinding> = []
  readonly dropped: Array<DroppedCandidate> = []
  readonly entities = new Entities()
  readonly #task: RulesTask
  readonly #unnamed: People
  /** The last message of each speaker. */
  readonly #lastOf = new Map<People, number>()
  /** People of those whom the request names; each has relatives of their own. */
  readonly #named = new Map<string, People>()
  #people: People
  #question: string | undefined
  #before: ReadonlyArray<SourcedFinding> | undefined
  /** One of those whom the request names asks another. */
  #asksAgent = false
  #sentencesRead = 0
  /** Words of the sentence that is read. */
  #words: Array<Word> = []
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

  /** Those whom a turn of the context names. */
  learnPeople(turn: Turn): void {
    const people = this.#speaking(turn)
    for (const sentence of messageText(turn.content).sentences) relationFindings(writtenOut(sentence), people)
  }

  read(turn: Turn, source: number): void {
    const question = this.#question
    this.#question = lastQuestion(turn)
    if (turn.role !== "user") return
    this.#begin(dayOfTurn(turn, this.#task.conversationDate))
    this.#people = this.#speaking(turn)
    this.#asksAgent = turn.name === undefined
    this.#people.nextMessage(question)
    const { frames, omitted, sentences } = messageText(turn.content)
    if (realAgain.test(turn.content)) this.#plays = false
    for (const message of omitted) this.#drop("unsupported", message, source)
    const answer = question === undefined ? undefined : bareAnswer(question, sentences[0])
    if (answer !== undefined) this.#sentence(answer, source, "shortAnswer")
    const earlier = this.#lastOf.get(this.#people)
    this.#lastOf.set(this.#people, source)
    sentences.forEach((sentence, at) => {
      if (isWithdrawal(sentence)) {
        this.#withdraw(at === 0 ? earlier : source)
        const before = this.findings.length
        this.#sentence(sentence.replace(withdrawal, ""), source)
        // A withdrawal is of interest only where it ends what was said.
        this.findings = this.findings.filter(({ finding }, place) => place < before || finding.attribute !== undefined)
        return
      }
      if (at > 0 || answer === undefined) this.#sentence(sentence, source)
    })
    this.#plays ||= frames.has("play")
  }

  /** `Just kidding`: nothing that the speaker said in that message is meant. */
  #withdraw(message: number | undefined): void {
    const jokes = this.findings.filter(({ people, source }) => people === this.#people && source === message)
    for (const { finding, source } of jokes)
      if (finding.entity !== undefined) this.entities.correct(finding.entity, undefined, undefined, source)
    this.findings = this.findings.filter((said) => !jokes.includes(said))
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
    const written = writtenOut(sentence)
    mentionRelatives(written, this.#people)
    if (this.#plays) return this.#drop("unsupported", "role play", source)
    const bar = barred(written)
    if (bar !== undefined) return this.#drop(bar.reason, bar.message, source)
    const standing = this.#asksAgent ? standingInstruction(written, this.#people) : undefined
    if (standing !== undefined) return this.#keep(standing, source, [], written)
    this.#words = []
    for (const statement of statementsOf(written)) {
      this.#statement(statement, source, as)
    }
  }

  #statement(statement: string, source: number, as?: RuleName): void {
    if (this.#corrected(statement, source)) return
    const verdict = gate(statement)
    if (!verdict.states) {
      for (const finding of presupposed(statement, this.#people)) this.#keep(finding, source, [], statement)
      return this.#drop(verdict.reason, verdict.message, source)
    }
    if (!speaksOfSomebody(verdict.text, this.#people)) return
    if (this.#sentencesRead++ >= rulesLimits.sentencesReadMax) {
      return this.#drop("unsupported", "more sentences than are read at once", source)
    }
    const words = wordsOf(verdict.text)
    this.#words.push(...words)
    const before = this.findings.length
    for (const finding of this.#findingsOf(verdict.text, words, verdict.isAsked, source)) {
      const told = this.#inPlace(finding, verdict.text)
      this.#keep(as === undefined ? told : { ...told, rule: as }, source, this.#words, statement)
    }
    if (verdict.isAsked && this.findings.length === before) this.#drop("unsupported", "no rule knows this fact", source)
  }

  #keep(finding: Finding, source: number, words: ReadonlyArray<Word>, sentence: string): void {
    if (finding.entity !== undefined) this.entities.add(finding.entity, source)
    this.findings.push({ finding, source, words, sentence, people: this.#people })
  }

  /** `I meant the 14th`, `we cancelled the trip`: what was said last of it is replaced. */
  #corrected(statement: string, source: number): boolean {
    for (const correction of correctionsIn(statement)) {
      const isNear = (said: SourcedFinding) =>
        correction.noun !== undefined || correction.was !== undefined || said.source >= source - turnsBack
      const correct = (said: SourcedFinding) =>
        isNear(said) && passesGate(said.finding) ? afterCorrection(correction, said.finding, this.#day) : undefined
      const at = this.findings.findLastIndex((said) => said.people === this.#people && correct(said) !== undefined)
      const isOwn = ({ people }: SourcedFinding) => people.speakerId === this.#people.speakerId
      const said =
        this.findings[at] ?? this.#saidBefore().findLast((earlier) => isOwn(earlier) && correct(earlier) !== undefined)
      const corrected = said === undefined ? undefined : correct(said)
      if (said === undefined || corrected === undefined) continue
      const finding = { ...corrected, attribute: said.finding.attribute ?? asSaid(said.finding) }
      const day = finding.eventDate === said.finding.eventDate ? undefined : finding.eventDate
      if (at < 0) this.#keep(finding, source, said.words, statement)
      else {
        const renamed = this.#people.named(correction.was ?? "")
        if (renamed !== undefined) renamed.name = correction.now
        this.findings[at] = { ...said, finding }
        if (said.finding.entity !== undefined) this.entities.correct(said.finding.entity, finding.entity, day, source)
      }
      return true
    }
    return false
  }

  /** What is denied takes the place of what it ends alone: who does not live in Rome may live in Oslo still. */
  #inPlace(finding: Finding, statement: string): Finding {
    const { attribute, ...rest } = finding
    const isDenied = finding.type === "fact" && negatorsIn(finding.text).length > 0 && !isOver(statement)
    const kept = isDenied ? this.#endedBy(finding, statement) : (attribute ?? this.#endedBy(finding, statement))
    return kept === undefined ? rest : { ...rest, attribute: kept }
  }

  /** `I do not live in Rome any more`: the attribute of what was said before and holds no longer. */
  #endedBy(finding: Finding, statement: string, isOneValue = false): string | undefined {
    if (finding.type !== "fact" || (!isOver(statement) && negatorsIn(statement).length === 0)) return undefined
    const isEnded = ({ finding: said, people }: SourcedFinding) =>
      people.speakerId === this.#people.speakerId &&
      (!isOneValue || said.attribute !== undefined) &&
      denies(finding, said)
    const said = this.findings.findLast(isEnded) ?? this.#saidBefore().findLast(isEnded)
    return said && (said.finding.attribute ?? asSaid(said.finding))
  }

  /** Finds in the context, of users; it is read once, and only for a correction. */
  #saidBefore(): ReadonlyArray<SourcedFinding> {
    if (this.#before !== undefined) return this.#before
    const people = new People()
    people.speakerName = this.#unnamed.speakerName
    const messages = this.#task.context.slice(-rulesLimits.contextMessagesMax)
    const reader = new Reader({ ...this.#task, kinds: [], messages, context: [] }, people)
    messages.forEach((turn, at) => reader.read(turn, at - messages.length))
    return (this.#before = reader.findings)
  }

  #findingsOf(text: string, words: ReadonlyArray<Word>, isAsked: boolean, source: number): ReadonlyArray<Finding> {
    const people = this.#people
    const special = correctedName(text, people) ?? nameFragment(text, words, people)
    if (special !== undefined) return [special]
    const relations = relationFindings(text, people)
    const { clauses, hasUnresolvedPronoun } = clausesOf(words, people)
    if (hasUnresolvedPronoun) this.#drop("unsupported", "it is not clear who is meant", source)
    const told = clauses.flatMap((clause) => {
      const dates = eventDates(clause.predicate, this.#day, sideOf(clause), this.#anchor)
      this.#anchor = dates.find(({ start }) => start !== undefined)?.start ?? this.#anchor
      const scene: Scene = { clause, people, dates, isAsked }
      for (const family of families) {
        const found = family(scene)
        if (found !== undefined) return found
      }
      if (isAsked) return [factOf(scene, "asked")]
      const ending = factOf(scene, "change")
      return isOver(`I ${clause.predicate}`) && this.#endedBy(ending, text, true) !== undefined ? [ending] : []
    })
    const found = [...relations, ...told]
    if (clauses.length === 0 || told.length === 0) found.push(...this.#fragments(text))
    const contacts = contactFindings(text, people)
    return [...found, ...contacts.filter(({ text: fact }) => !told.some((other) => sharesValue(other.text, fact)))]
  }

  /** Statements without a person: `The offsite is on 9 July`, `Green tea is my thing`. */
  #fragments(text: string): ReadonlyArray<Finding> {
    const people = this.#people
    const dates = eventDates(text, this.#day, "future", this.#anchor)
    this.#anchor = dates.find(({ start }) => start !== undefined)?.start ?? this.#anchor
    return occasionIn(text, dates, people, this.#day) ?? []
  }

  #drop(reason: Stop["reason"], message: string, source: number): void {
    if (reason === "small_talk") return
    const isKnown = this.dropped.some((drop) => drop.message === message && drop.sources[0] === source)
    if (!isKnown && this.dropped.length < rulesLimits.droppedMax)
      this.dropped.push({ reason, message, sources: [source] })
  }
}

const booked = anywhere(`^(?:(?:have|has|had|just) )*(?:${bookings})`)
const signedUp = anywhere(`^(?:(?:have|has|had|just) )*(?:${signings})`)

const sideOf = ({ predicate, tense }: Clause): DateSide =>
  signedUp.test(predicate) ? "ahead" : tense === "past" && !booked.test(predicate) ? "past" : "future"

/** Messages that a correction without a name reaches back. */
const turnsBack = 4

/** `Just kidding, `: what follows is meant. */
const withdrawal = /^.*?\b(?:kidding|joking|jk|as if|not really|or not|I wish|yeah right|in my dreams)\b[\s,.!:;-]*/i

const realAgain =
  /\b(?:out of character|stop the role ?play|end (?:of )?(?:the )?role ?play|back to reality|for real now)\b/i

const starts = oneOf(statementStarts, { before: "^", flags: "i" })

/** A cheap test before the tagger: skips sentences about no person. */
const speaksOfSomebody = (text: string, people: People): boolean =>
  /\b(?:I|my|me|we|our|he|she|they|his|her|it is|here|again|speaking|name)\b|\w@\w/i.test(text) ||
  /\p{Lu}[\p{L}'-]+ (?:\p{Ll}+(?:s|ed|t)\b|is|has|was|'s)/u.test(text) ||
  starts.test(text) ||
  namesOccasion(text) ||
  people.all().some(({ name }) => name !== undefined && text.includes(name))

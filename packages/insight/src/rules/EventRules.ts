/**
 * Rules for events: plans and appointments with their dates, places and people. A habit is no
 * event, nor is a state that began at a time; without a date in the text there is none in the event.
 */
import { capitalised, type Finding, headOf, type RuleFamily, type Scene, sentenceOf, subjectOf } from "./Finding.ts"
import type { EventDate } from "./EventDates.ts"
import type { People } from "./People.ts"
import { inThirdPerson } from "./ThirdPerson.ts"

const occasion =
  "(?:appointments?|interviews?|flights?|exams?|tests?|finals?|weddings?|surgery|operation|meetings?|party|parties|graduation|deadlines?|trips?|vacation|holidays?|marathon|half-marathon|half marathon|race|concerts?|gig|move|due date|check-?up|presentations?|conferences?|anniversary|recital|game|match|tournament|dinner|lunch|brunch|breakfast|date|reunion|audition|performance|visit|class|course|workshop|lesson|session|webinar|call|review|hearing|funeral|baptism|christening|bar mitzvah|baby shower|bachelorette|hen do|stag do|festival|show|exhibition|launch|release|demo|completion|offsite|off-site|physio|results|last day|first day|start date|end date|due|\\d+th|kick-?off|stand-?up|catch-?up|intro|sync|move-in|check-in|ceremony|defen[cs]e|viva|scan|ultrasound|mri|physio|haircut|bbq|barbecue|retreat|road trip|cruise|hike|camping trip|picnic|sleepover|orientation|closing|inspection|train|bus|ferry)"
const occasionPattern = new RegExp(`\\b${occasion}\\b`, "i")

const habit =
  /\b(?:every|each|daily|weekly|monthly|yearly|annually|usually|always|(?:once|twice|\d+ times|three times|four times) an? (?:day|week|month|year)|(?:mon|tues|wednes|thurs|fri|satur|sun)days|weekends|mornings|evenings)\b/i
const standing =
  /^(?:live|lives|reside|was born|were born|have been|has been|have lived|has lived|work|works|love|loves|like|likes|hate|hates|prefer|own|owns|speak|am from|is from|have known|used to|have had|has had|can)\b/i
const futureLead =
  /^(?:(?:will|shall) (?!never\b)(?:be )?|(?:am|is|are) (?:going|planning|about|set|due|scheduled|supposed|booked|hoping|expecting|thinking) (?:to|on|of|for)\b ?|plan(?:s)? (?:to|on)\b ?|intend(?:s)? to\b ?|have decided to\b ?|decided to\b ?|am determined to\b ?)/i
const trivial =
  /^(?:am|is|are|was|were|felt|slept|woke|ate|had (?:lunch|dinner|breakfast|coffee|pizza|pasta)|think|thought|know|saw your|asked|said|told|forgot|tried|mentioned)\b/i
/** Completed acts with lasting results: facts, found by other families. */
const lasting =
  /^(?:have |has )?(?:just )?(?:moved|quit|left|started|graduated|retired|bought|sold|adopted|got (?:a|an|my|the|married|divorced|engaged|promoted|fired|laid)|became|was diagnosed|joined|turned|gave up|stopped|changed|switched|resigned|lost|was (?:laid|fired|promoted|hired)|broke up|lived|worked|studied|taught|served|volunteered|played|used|broke (?:my|her|his)|won|wrote|published|ran a|(?:have |has )?been|died|passed away|founded|met|began)\b/i
const errand =
  /^(?:am|is|are) going to (?:bed|sleep|lunch|dinner|work|be honest|have to|need|try|ask|say|check|see|use|take a (?:look|nap|shower)|the (?:shops?|store|gym|toilet|bathroom|kitchen|office))\b/i
/** Between the user and the assistant. */
const promise =
  /^(?:(?:will|shall) |am going to )(?:try|let|tell|show|send|ask|keep|give|do|check|look|get back|report|come back|update)\b.*\b(?:you|that|this|it|these|those)\b/
const journey = /^(?:am|is|are) (?:flying|moving|travell?ing|heading|going|emigrating|relocating) to \p{Lu}/u
const movement = /^(?:am|is|are) (?:\w+ing|off to|away|in [A-Z])\b/

export const eventRules: RuleFamily = (scene) => {
  const { predicate, subject, tense } = scene.clause
  const dated = scene.dates.filter(({ text }) => predicate.includes(text) || scene.dates.length === 1)
  if (habit.test(predicate) || standing.test(predicate)) return undefined
  // Recurs every year.
  if (
    /^(?!am|is|are)\p{L}+s? .*\bin (?:the )?(?:winter|summer|spring|autumn|fall)[.!]?$/u.test(predicate) &&
    tense === "present"
  )
    return undefined
  if (
    /^(?:want|wants|would|need|needs|hope|hopes|wish|have to|has to)\b/.test(predicate) &&
    !dated.some(({ start }) => start !== undefined)
  )
    return undefined
  if (subject.type === "attribute") {
    if (/(?:birthday|birth|anniversary|name day)$/i.test(subject.noun)) return undefined
    if (!occasionPattern.test(subject.noun) || (dated.length === 0 && !/^(?:is|was) (?:in|at|with)\b/.test(predicate)))
      return undefined
    return [eventOf(scene, dated, `${headOf(scene)}${attributeEvent(predicate, dated)}`, "datedEvent")]
  }
  if (/\bnot\b|\bno longer\b|\bnever\b/.test(predicate)) return undefined
  if ((errand.test(predicate) && dated.length === 0) || promise.test(predicate)) return []
  const isPlanned = futureLead.test(predicate) || journey.test(predicate)
  const hasAppointment =
    /^(?:have|has|have got|got|booked|have booked|has booked|scheduled|have scheduled|signed up for|have signed up for|registered for|am registered for|am signed up for|have tickets for|got tickets for|bought tickets for|am attending|am hosting|am running|am flying|is hosting) /.test(
      predicate
    ) && occasionPattern.test(predicate)
  if (dated.length === 0) {
    if (
      !isPlanned &&
      !(hasAppointment && /^(?:am|booked|have booked|signed|have signed|registered|got tickets)/.test(predicate))
    )
      return undefined
    return /^(?:will|shall) (?:be|have|try|see|let|keep|do|take|check|get back|need|say|ask|use|go with|think|give|look)\b/.test(
      predicate
    )
      ? undefined
      : [eventOf(scene, dated, sentenceOf(scene), "plan")]
  }
  if (trivial.test(predicate) && !isPlanned && !movement.test(predicate)) return undefined
  if (lasting.test(predicate) && !hasAppointment) return undefined
  if (tense === "past") return [eventOf(scene, dated, eventText(scene, dated), "pastEvent")]
  return [eventOf(scene, dated, eventText(scene, dated), "datedEvent")]
}

const occasionStart = /^(?:the|a|an|there is (?:an? |the )?|our|my|[A-Z])/

/** `Physio starts next Monday`, `Intro call with Ana on 3 May at 11`: no person, but a day to come. */
export const occasionIn = (
  text: string,
  dates: ReadonlyArray<EventDate>,
  people: People,
  conversationDate: string
): ReadonlyArray<Finding> | undefined => {
  const isAhead = dates.some(({ start }) => start !== undefined && start.slice(0, 10) >= conversationDate)
  if (
    !isAhead ||
    (!occasionPattern.test(text) && !happening.test(text) && !fragment.test(text)) ||
    habit.test(text) ||
    text.split(" ").length > occasionWordsMax
  )
    return undefined
  // What follows has a subject of its own.
  const [statement = ""] = text.split(/, (?=(?:I|we|they|he|she|it) )/)
  if (statement !== text)
    return occasionIn(
      statement,
      dates.filter((date) => statement.includes(date.text)),
      people,
      conversationDate
    )
  if (!occasionStart.test(text) && !/^[a-z]+ [a-z]+ with\b/.test(text) && !fragment.test(text)) return undefined
  const scene: Scene = {
    clause: { subject: { type: "speaker" }, predicate: text, words: [], tense: "future" },
    people,
    dates,
    isAsked: false
  }
  const known = dates.filter(({ start }) => start !== undefined)
  const event = tidied(known.reduce((rest, date) => rest.replace(date.text, " "), text)).replace(
    / (?:is|are|will be)$/,
    ""
  )
  return [eventOf(scene, dates, capitalised(inThirdPerson(event, people)), "eventFragment")]
}

/** `exam next Tuesday at 9`, `dentist tomorrow 3pm`: the occasion stands first. */
const fragment = new RegExp(
  `^(?:[\\w'-]+ ){0,2}?(?:${occasion}|dentist|doctors?|gp|vet|optician|hairdresser|therapy|rehearsal|surgery|payday|moving day|drinks|bonfire|premiere|screening|delivery)\\b`,
  "i"
)

/** Cheap, before the tagger: could this be an occasion without a person? */
export const namesOccasion = (text: string): boolean =>
  fragment.test(text) && /\d|day\b|tomorrow|tonight|next|week/i.test(text)

/** What things do on a day: `The cast comes off on 15 December`. */
const happening =
  /^there (?:is|are) (?:an? |some )?[\w' -]{2,30}? (?:on|this|next|tomorrow)\b|^(?:the|my|our|[A-Z]\w+) (?:[\w'-]+ ){0,4}?(?:is coming|are coming|is arriving|gets?|is being|comes?|arrives?|starts?|begins?|ends?|opens?|closes?|leaves?|is due|are due|expires?)\b/i

const occasionWordsMax = 24

/** The sentence without its dates, which stand in fields of their own. */
const eventText = (scene: Scene, dates: ReadonlyArray<EventDate>): string => {
  const known = dates.filter(({ start }) => start !== undefined)
  const predicate = known.reduce((text, date) => text.replace(date.text, " "), scene.clause.predicate)
  return sentenceOf(scene, tidied(predicate))
}

const attributeEvent = (predicate: string, dates: ReadonlyArray<EventDate>): string => {
  const rest = tidied(dates.reduce((text, date) => text.replace(date.text, " "), predicate))
  return /^(?:is|are|was|will be)$/.test(rest) ? "" : ` ${rest}`
}

const tidied = (text: string): string =>
  text
    .replace(/\b(?:on|by|from|until|till|to|at|starting|for)\s+(?=[,.]|$)/g, " ")
    .replace(/\s+/g, " ")
    .replace(/[\s,;.!-]+$/, "")
    .replace(/\b(?:on|by|from|until|at|this|the|starting)$/, "")
    .trim()

const placeName =
  /\b(?:in|at|near) ((?:(?:the )?room \w{1,4}|(?:the )?\p{Lu}[\p{L}'&.-]*(?: (?:\p{Lu}|of |de |the (?=\p{Lu}))[\p{L}'&.-]*){0,4}))/u
const company =
  /\bwith ((?:my|our|the)? ?[\p{L}'-]+(?: \p{Lu}[\p{L}'-]+)*(?:(?:,| and|, and) (?:my |our )?[\p{L}'-]+(?: \p{Lu}[\p{L}'-]+)*){0,4})/u
const relations = /\b(?:my|our) |\p{Lu}/u

const eventOf = (scene: Scene, dates: ReadonlyArray<EventDate>, event: string, rule: Finding["rule"]): Finding => {
  const first = dates.find(({ start }) => start !== undefined)
  const { predicate } = scene.clause
  const undated = dates.reduce((text, date) => text.replace(date.text, " "), predicate)
  const location = placeName.exec(undated)?.[1]
  const participants = participantsOf(undated, scene)
  const finding = {
    rule,
    type: "event",
    subject: subjectOf(scene),
    text: event,
    ...(first?.start === undefined ? {} : { eventDate: first.start }),
    ...(first?.end === undefined ? {} : { endDate: first.end }),
    ...(location === undefined ? {} : { location }),
    ...(participants.length === 0 ? {} : { participants })
  } as const
  const fields = {
    event,
    title: titleOf(scene, undated),
    ...timeOf(predicate),
    ...(first?.start === undefined ? {} : { date: first.start, start: first.start }),
    ...(first?.end === undefined ? {} : { end: first.end }),
    ...(location === undefined ? {} : { location }),
    ...(participants.length === 0 ? {} : { attendees: participants, participants })
  }
  return { ...finding, entity: { type: "event", id: event, fields } }
}

/** As written: `15:30`, `3 pm`, `at 11`. */
const timeOf = (text: string): { readonly time: string } | undefined => {
  const time =
    /\b(?:at |from )?(\d{1,2}:\d\d(?: ?[ap]\.?m\.?)?|\d{1,2} ?[ap]\.?m\b|noon|midnight)|\bat (\d{1,2})(?=[,.;]|$| (?:with|in|on|and|her|his)\b)/i.exec(
      text
    )
  const value = time?.[1] ?? time?.[2]
  return value === undefined ? undefined : { time: value }
}

/** The occasion's own words (`dentist appointment`), as a title would have it. */
const titleOf = (scene: Scene, undated: string): string => {
  const text = scene.clause.subject.type === "attribute" ? scene.clause.subject.noun : undated
  const found = new RegExp(`((?:[\\w'-]+ ){0,2})\\b(${occasion})\\b`, "i").exec(text)
  if (found === null) return tidied(inThirdPerson(undated.replace(futureLead, ""), scene.people))
  const lead = (found[1] ?? "").replace(/^.*\b(?:an?|the|my|our|have|has|booked|got|for|is|another|to)\b ?/i, "")
  return `${lead}${found[2]}`.trim()
}

const participantsOf = (text: string, scene: Scene): ReadonlyArray<string> => {
  const named = company.exec(text)?.[1]
  if (named === undefined || !relations.test(named)) return []
  return named
    .split(/,? and |, /)
    .map((name) => name.trim())
    .filter((name) => relations.test(name))
    .map((name) => personText(name, scene))
}

const personText = (name: string, scene: Scene): string => {
  const owned = /^(?:my|our) ([\p{L} -]+?)(?: (\p{Lu}[\p{L}'-]+))?$/u.exec(name)
  if (owned === null) return name
  return (
    owned[2] ??
    scene.people.related(owned[1] ?? "")?.name ??
    inThirdPerson(name, scene.people).replace(/^The user/, "the user")
  )
}

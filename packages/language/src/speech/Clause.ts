/**
 * Clauses of a quoted text, and the subject of each. Read from closed classes of words alone: pronouns, possessives,
 * auxiliaries, connectives, capitals, past forms of verbs and nouns of relations.
 *
 * Invariant: a clause without a subject of its own has that of the clause before it in its sentence; the first one is the
 * speaker's ("sold the van"). What hangs on "if", on a wish or on somebody's words is not asserted.
 */
import { oneOf, phrases } from "../text/OneOf.ts"
import { irregularPasts } from "../text/LanguageStems.ts"
import { stopWords } from "../text/Language.ts"
import { tokenize } from "../text/Tokenizer.ts"
import { monthNames, weekdayNames } from "../calendar/CalendarWords.ts"
import { type Gender, genderOf, isRelation } from "../people/Relations.ts"
import { isOver, moodOf, takesItselfBack } from "./Mood.ts"
import { plainMarks, sentencesOf, writtenOut } from "./WrittenOut.ts"

export interface Clause {
  readonly text: string
  readonly terms: ReadonlySet<string>
  readonly sentence: number
  /** `owned`: "my sister"; `other`: anybody or anything else, by its words; `open`: "it", "there". */
  readonly subject: "speaker" | "owned" | "other" | "open"
  /** Stems of the words of the subject; of a pronoun those of what was named last. */
  readonly subjectTerms: ReadonlySet<string>
  /** Terms of the owner: of "my sister's exam" those of the sister; the subject is the exam. */
  readonly ownerTerms: ReadonlySet<string>
  /** No subject is said; it is taken for the speaker's. */
  readonly isImplied: boolean
  /** Words behind the subject. */
  readonly predicate: string
  readonly isAsserted: boolean
  /** A state that has ended. */
  readonly isOver: boolean
}

/** Questions have none. */
export const clausesOf = (text: string): ReadonlyArray<Clause> => {
  const clauses: Array<Clause> = []
  let meant = nothingMeant
  for (const [sentence, one] of sentencesOf(text).entries()) {
    let before: Clause | undefined
    const people: Array<MentionedPerson> = []
    const isTakenBack = takesItselfBack(plainMarks(one))
    for (const piece of piecesOf(one)) {
      const read = readClause(piece, before, meant)
      const clause = { ...read, sentence, isAsserted: read.isAsserted && !isTakenBack }
      if (!/\?["'”’)]*$/u.test(one)) clauses.push(clause)
      before = clause
      const named = namedIn(piece.text)
      people.push(...peopleIn(piece.text))
      const isOfOther = clause.subject === "owned" || clause.subject === "other"
      meant = {
        ...(named.size > 0 ? { terms: named, owners: isOfOther ? clause.subjectTerms : none } : meant),
        people: people.length > 0 ? people : meant.people
      }
    }
  }
  return clauses
}

/** Candidates that a pronoun may stand for. */
interface Meant {
  /** Terms that were named last, and their owner where somebody else is the subject: "my sister has a son". */
  readonly terms: ReadonlySet<string>
  readonly owners: ReadonlySet<string>
  /** People named in the last sentence that names any: who "he" and "she" may be. */
  readonly people: ReadonlyArray<MentionedPerson>
}

interface MentionedPerson {
  readonly terms: ReadonlySet<string>
  /** Undefined: either. */
  readonly gender: Gender | undefined
}
const none: ReadonlySet<string> = new Set()
const nothingMeant: Meant = { terms: none, owners: none, people: [] }

interface Piece {
  readonly text: string
  /** The word that joins it to the one before it; empty for none. */
  readonly joint: string
  /** It hangs on the one before it: "I think he is", "I wish I had". */
  readonly isEmbedded: boolean
}

const NOMINATIVE = "(?:I|we|We|he|He|she|She|they|They)"
const CONNECTIVE = "but|so|because|whereas|although|though|if|unless|whether|when|where|while|who|whom|whose|which|nor"
/** Prepositions, too: they join clauses before a subject alone. */
const PREPOSITION = "as|since|before|after|until|till|than|that|like|and|or"
const DETERMINED = `(?:${NOMINATIVE}|it|my|our|his|her|their)`
const CUTS = new RegExp(
  `\\s*[;:—–]\\s+|\\s+-+\\s+|,\\s+|\\s+(?=(?:${CONNECTIVE})\\b)|\\s+(?=(?:${PREPOSITION}) ${DETERMINED}\\b)|\\s+(?=${NOMINATIVE}(?:['’]\\p{L}+)?\\b)`,
  "gu"
)
const JOINT = new RegExp(`^(?:${CONNECTIVE}|(?:${PREPOSITION})(?= ${DETERMINED}\\b)|not|never|and|or)\\b`, "i")

const piecesOf = (sentence: string): ReadonlyArray<Piece> => {
  const pieces: Array<Piece> = []
  let from = 0
  let cut = ""
  for (const match of sentence.matchAll(CUTS)) {
    const text = sentence.slice(from, match.index).trim()
    // "So | we", "in fact | I", "my wife and | I": one piece.
    if (text === "" || (match[0].trim() === "" && (JOINT.exec(text)?.[0] === text || leads(text)))) continue
    addPiece(pieces, text, cut)
    from = match.index + match[0].length
    cut = match[0].trim()
  }
  const last = sentence.slice(from).trim()
  if (last !== "") addPiece(pieces, last, cut)
  return pieces
}

const LEAD_WORDS_MAX = 4
/** What may stand before a subject: a preposition or adverb with its words, or another subject and "and". */
const leads = (text: string): boolean =>
  text === "" ||
  (text.split(" ").length <= LEAD_WORDS_MAX && (/ (?:and|or)$/i.test(text) ? !hasVerb(text) : LEAD.test(text)))
const LEAD = oneOf(
  phrases(String.raw`
    in / at / on / for / with / by / from / after / before / since / during / until / to / today / yesterday
    tomorrow / tonight / last / this / next / still / now / just / then / also / actually / honestly / sadly
    luckily / finally / sometimes / usually / both / only / even / unlike / like / yes / no / well / ok / oh
    \p{L}+ly
  `),
  { before: "^(?:and |but |so |or )?", after: String.raw`\b`, flags: "iu" }
)

const addPiece = (pieces: Array<Piece>, text: string, cut: string): void => {
  const joint = JOINT.exec(text)?.[0].toLowerCase() ?? ""
  const previous = pieces.at(-1)
  const isList = joint === "" || joint === "and" || joint === "or"
  // "The cello and the piano", "on Tuesdays, Thursdays": parts of one clause.
  if (previous !== undefined && isList && (cut === "" || cut === ",") && !hasOwnSubject(text)) {
    pieces[pieces.length - 1] = { ...previous, text: `${previous.text}${cut} ${text}` }
    return
  }
  pieces.push({ text, joint, isEmbedded: previous !== undefined && cut === "" && (joint === "" || joint === "that") })
}

const AUXILIARY = "is|are|was|were|am|has|have|had|do|does|did|will|can|could|would|should|must|may|might"
const hasVerb = (text: string): boolean =>
  new RegExp(`\\b(?:${AUXILIARY})\\b|['’](?:s|m|re|ve|ll|d)\\b`, "i").test(text)
const PAST = `(?:${[...irregularPasts, "got", "rose", "quit"].join("|")})`
const ADVERB = "\\p{L}+ly|now|just|also|still|already|never|always|often|once"
const VERBAL = `(?!this|his|its|has|was|is\\b)(?:(?:${ADVERB}) ){0,2}(?:\\p{Ll}{2,}(?:s|ed)|${PAST})\\b`
const OWN_SUBJECT = new RegExp(
  `^(?:${DETERMINED}|you|there|everyone|everybody|someone|somebody|nobody|people)\\b|` +
    `^(?:my|our|his|her|their|your|its|the|an?|some|every|each|no|most|many)\\b.*?(?: (?:${AUXILIARY})\\b|['’]s\\b| ${VERBAL})`,
  "iu"
)
const hasOwnSubject = (text: string): boolean => {
  const body = bodyOf(text)
  return OWN_SUBJECT.test(body) || nameSubject(body) !== undefined || LEADING.test(body)
}

/** Without what joins it to the clause before it. */
const bodyOf = (text: string): string =>
  text
    .replace(JOINT, "")
    .replace(/^(?:\s|(?:then|also|now|well|yes|yeah|no|ok|okay|oh|and)\b,?)+/i, "")
    .replace(
      /^(?:[Yy]esterday|[Tt]oday|[Tt]onight|[Tt]omorrow|\p{L}+ly|(?:[Ll]ast|[Tt]his|[Nn]ext) \p{L}+),? (?=(?!I\b)\p{Lu})/u,
      ""
    )

/** Capitals that are no names. */
const dates: ReadonlySet<string> = new Set([...monthNames, ...weekdayNames].map((name) => name.toLowerCase()))
const NAMED = new RegExp(
  `^(\\p{Lu}[\\p{L}-]+(?: \\p{Lu}[\\p{L}-]+){0,2})(?:['’]s (?!an? |the )(?:[\\p{L}-]+ ){0,3}?)?(?: (?:${AUXILIARY}|and|who)\\b|['’](?:s|d|ll|ve)\\b| ${VERBAL}| (?!(?:from|in|at|of|to|on|with|by|for|near)\\b)\\p{Ll}+ (?:me|us|my|our|the|an?|his|her|their|up|out|off|over|back|in|to|from|at|with|for|on|away)\\b)`,
  "u"
)

/** The name that a clause begins with, before its verb. */
const nameSubject = (body: string): string | undefined => {
  const name = NAMED.exec(body)?.[1]
  const words = name?.toLowerCase().split(" ") ?? []
  if (name !== undefined && !isNoSubject(words)) return name
  const plain = PLAIN_NAME.exec(body)?.[0]
  return plain === undefined || isNoSubject([plain]) || LEAD.test(plain) ? undefined : plain
}

const isNoSubject = (words: ReadonlyArray<string>): boolean =>
  words.every((word) => stopWords.has(word) || dates.has(word))

const FIRST = new RegExp(
  `\\b(?:(I|[Ww]e)\\b|([Mm]y|[Oo]ur)\\b|([Hh]e|[Ss]he|[Tt]hey|[Hh]is|[Hh]er|[Tt]heir)\\b|` +
    `([Ii]t|[Ii]ts|[Tt]here|[Tt]his|[Tt]hat|[Tt]hese|[Tt]hose|[Yy]ou|[Yy]our|[Ee]very(?:one|body)|[Aa]ny(?:one|body)|[Ss]ome(?:one|body)|[Nn]obody|[Pp]eople)\\b)`,
  "u"
)
/** "Last day was Friday": what stands before the first auxiliary. */
const LEADING = new RegExp(
  `^((?!I\\b|we\\b|my\\b|our\\b|not\\b)(?:[\\p{L}\\p{N}-]+ ){0,3}?[\\p{L}\\p{N}-]+)(?<! (?:in|of|by|since|until|till|last|next|this))(?: (?:${AUXILIARY})\\b|['’]s\\b)`,
  "iu"
)
/** "kim bought two cars": a word that is no verb before one that is a past form. */
const PLAIN_NAME = new RegExp(`^(?!${PAST}\\b|\\p{Ll}+(?:ed|ing|ly)\\b)\\p{Ll}{2,}(?= ${PAST}\\b)`, "u")
/** "Some of my patients", "one of us". */
const PART_OF =
  /^(?:\p{L}+|\d+|an? \p{L}+) of (?:(us)\b|(?:my|our|the|his|her|their|your|these|those|them)\b( [\p{L}-]+(?: [\p{L}-]+(?= (?:is|are|was|were|has|have|had|can|do|does|did)\b))?)?)/iu
/** Of "Ann's dentist is", not of "Ann's allergic to". */
const POSSESSED = new RegExp(`^['’]s (?:[\\p{L}-]+ )??[\\p{L}-]+(?<!ly|ing|ed)(?= (?:${AUXILIARY}|${VERBAL})\\b)`, "u")
const ARTICLE =
  /^(?:the|an?|some|every|each|no|most|many|all|both|hardly|few|another)\b(?: (?!(?:and|or|is|are|was|were|has|have|had|of)\b)[\p{L}-]+){1,2}(?:['’]s [\p{L}-]+)?/iu
/** A noun, those before it where an auxiliary follows, and a name. */
const OWNED = new RegExp(
  `^(?:(?: [\\p{L}-]+(?:['’]s)?){1,4}?(?= (?:${AUXILIARY})\\b|['’]s (?!\\p{Ll}+(?<!ly|ing|ed) (?:${AUXILIARY}|${VERBAL})))| [\\p{L}-]+(?:['’]s [\\p{L}-]+)?(?: \\p{Lu}[\\p{L}-]+)*)`,
  "u"
)

const readClause = (
  { isEmbedded, joint, text }: Piece,
  before: Clause | undefined,
  meant: Meant
): Omit<Clause, "sentence"> => {
  const body = bodyOf(text)
  const own = ownSubject(body, joint, before, meant)
  const isOfBefore =
    before?.isAsserted === false &&
    (own === undefined || joint === "and" || (joint === "" && SUPPOSED.test(before.text)))
  const written = writtenOut(text)
  const isAsserted =
    !isEmbedded && !isOfBefore && !CONDITIONAL.test(joint) && moodOf(written) === "stated" && !UNREAL.test(text)
  const { ownerTerms, predicate, subject, subjectTerms } = own ?? { ...(before ?? speakers("")), predicate: body }
  const terms = new Set(tokenize(text))
  const isImplied = own === undefined && (before?.isImplied ?? true)
  return { text, terms, subject, subjectTerms, ownerTerms, isImplied, predicate, isAsserted, isOver: isOver(written) }
}

const CONDITIONAL = /^(?:if|unless|whether|like|than)$/
/** Before its main clause: "if anyone asks, I live there". */
const SUPPOSED = /^(?:and |but |so )?(?:if|unless|suppose|supposing|assuming|say)\b/i
/** All but so. */
const UNREAL = /\b(?:almost|nearly|about to|not sure|(?:wants?|wanted|invites?|invited) (?:me|us)|offers?|offered)\b/i

type OwnSubject = Pick<Clause, "subject" | "subjectTerms" | "ownerTerms" | "predicate">

const ownSubject = (body: string, joint: string, before: Clause | undefined, meant: Meant): OwnSubject | undefined => {
  // "Who are vegan now": those named last.
  if (/^(?:who|which|whose|whom)$/.test(joint)) {
    const named = before === undefined ? meant.terms : namedIn(before.text)
    return { subject: "other", subjectTerms: named, ownerTerms: none, predicate: body }
  }
  const first = FIRST.exec(body)
  const name = nameSubject(body)
  if (name !== undefined) {
    const rest = body.slice(name.length)
    const isWithSpeaker = /^ and I\b/.test(rest)
    return isWithSpeaker ? speakers(rest) : told("other", `${name}${POSSESSED.exec(rest)?.[0] ?? ""}`, rest)
  }
  const part = PART_OF.exec(body)
  if (part !== null) {
    const rest = body.slice(part[0].length)
    return part[1] === undefined ? told("other", part[2] ?? "", rest) : speakers(rest)
  }
  const article = ARTICLE.exec(body)
  if (article !== null) {
    const rest = body.slice(article[0].length)
    return { ...told("other", article[0], rest), ownerTerms: stemsOf(OF_OWNER.exec(rest)?.slice(1).join(" ") ?? "") }
  }
  const leading = LEADING.exec(body)?.[1]
  if (leading !== undefined && (first === null || first.index >= leading.length)) {
    return told("other", leading, body.slice(leading.length))
  }
  // What stands behind a verb is no subject: "booked it for my mum".
  if (first === null || !leads(body.slice(0, first.index).trim())) return undefined
  const rest = body.slice(first.index + first[0].length)
  if (first[1] !== undefined) return speakers(rest)
  const words = OWNED.exec(rest)?.[0] ?? ""
  if (first[2] !== undefined) {
    return / and I\b/.test(rest.slice(words.length)) ? speakers(rest) : told("owned", words, rest.slice(words.length))
  }
  if (first[3] === undefined) {
    // "You are Kim": "you" is the listener, whom no name of the conversation means.
    const subjectTerms = /^your?$/i.test(first[4] ?? "") ? none : meant.terms
    return { subject: "open", subjectTerms, ownerTerms: none, predicate: rest }
  }
  const gender = /^(?:he|his)$/i.test(first[3]) ? "male" : /^(?:she|her)$/i.test(first[3]) ? "female" : undefined
  const person = gender === undefined ? meant.terms : personOf(gender, meant)
  if (!/^(?:his|her|their)$/i.test(first[3])) {
    const ownerTerms = gender === undefined ? meant.owners : none
    return { subject: "other", subjectTerms: person, ownerTerms, predicate: rest }
  }
  const ownerTerms = person.size > 0 ? person : unknownOwner
  return { ...told("other", words, rest.slice(words.length)), subjectTerms: stemsOf(words).union(person), ownerTerms }
}

/** Not the word of any question. */
const unknownOwner: ReadonlySet<string> = new Set(["?"])

/** "He" and "she" are the one person they fit; of two it is not clear who is meant. */
const personOf = (gender: Gender, { people }: Meant): ReadonlySet<string> => {
  const fitting = people.filter((person) => person.gender === undefined || person.gender === gender)
  return fitting.length === 1 ? fitting[0]!.terms : none
}

/** "My daughter Leila", "Ben's wife", "Ben": relations by their words, and names that are no places. */
const peopleIn = (text: string): ReadonlyArray<MentionedPerson> => {
  const related = [...text.matchAll(RELATED)].filter(([, relation = ""]) => isRelation(relation))
  const people = related.map(([, relation = "", name = ""]) => ({
    terms: stemsOf(`${relation} ${name}`),
    gender: genderOf(relation)
  }))
  const known = new Set(people.flatMap(({ terms }) => [...terms]))
  const first = nameSubject(bodyOf(text)) ?? /^\p{Lu}[\p{L}-]+(?=['’]s )/u.exec(text)?.[0]
  const names = [...(first === undefined ? [] : [first]), ...[...text.matchAll(LATER_NAME)].map(([name]) => name)]
  const others = [...new Set(names)].filter(
    (name) =>
      !stopWords.has(name.toLowerCase()) &&
      !dates.has(name.toLowerCase()) &&
      !tokenize(name).some((stem) => known.has(stem))
  )
  return [...people, ...others.map((name) => ({ terms: stemsOf(name), gender: undefined }))]
}
const RELATED =
  /(?:\b(?:my|our|his|her|their|an?|the)|['’]s) (?:\p{Ll}+ ){0,2}?(\p{Ll}[\p{L}-]*)(?:,? (\p{Lu}[\p{L}-]+))?/giu
const LATER_NAME =
  /(?<=[\p{L},] )(?<!\b(?:in|at|from|near|on|of|(?:mov|go|went|back|flew|fly|dr[io]v|travel)\p{Ll}* to) )\p{Lu}[\p{L}-]+/gu

const speakers = (predicate: string): OwnSubject => ({
  subject: "speaker",
  subjectTerms: none,
  ownerTerms: none,
  predicate
})

const told = (subject: Clause["subject"], words: string, predicate: string): OwnSubject => {
  const owners = /^.*['’]s(?= \p{L})/u.exec(words)?.[0] ?? ""
  return { subject, subjectTerms: stemsOf(words), ownerTerms: stemsOf(owners), predicate }
}

const stemsOf = (words: string): ReadonlySet<string> => new Set(tokenize(words).filter((stem) => !stopWords.has(stem)))

/** "The password of my sister's wifi", "the name of my landlord". */
const OF_OWNER = /^ of (?:(?:my|our|his|her|their) (?:([\p{L}-]+)['’]s\b|([\p{L}-]+))|(\p{Lu}[\p{L}-]+)['’]s\b)/iu

/** Who or what a pronoun may stand for behind this text: what somebody has, and names that are no places. */
const namedIn = (text: string): ReadonlySet<string> =>
  new Set(
    [
      ...text.matchAll(
        /\b(?:[Mm]y|[Oo]ur|[Hh]is|[Hh]er|[Tt]heir|[Aa]n?|[Tt]he)((?: \p{Ll}[\p{L}-]*){1,2})|(?<!\b(?:in|at|from|to|near|on|of) )\b(\p{Lu}[\p{L}-]+)/gu
      )
    ]
      .flatMap(([, owned = "", name = ""]) => tokenize(`${owned} ${name}`))
      .filter((stem) => !stopWords.has(stem))
  )

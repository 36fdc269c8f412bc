/**
 * Who is who among the memories of one agent and subject: the user with their names, and others with what they are to
 * whom. Made of what the visible memories tell, so no name comes from what is erased or not shown.
 *
 * Invariant: the first name that the user goes by decides; another one is an alias if it shares a word with a known one,
 * or is told as one. A name in a pasted text, or a guest at the keyboard, does not make another person the user.
 */
import { monthNames, weekdayNames } from "../calendar/CalendarWords.ts"
import { stopWords } from "../text/Language.ts"

export interface Person {
  /** As it was told first. */
  readonly name: string
  readonly aliases: ReadonlyArray<string>
  /** Relations, and to whom; `of` undefined: to the user. */
  readonly relations: ReadonlyArray<{ readonly relation: string; readonly of: string | undefined }>
}

export interface People {
  readonly user: Person | undefined
  readonly others: ReadonlyArray<Person>
  /** Several speak by name, and none of them is known as the user. */
  readonly isGroup: boolean
  /** Somebody speaks as the user. */
  readonly isChat: boolean
}

export const nobody: People = { user: undefined, others: [], isGroup: false, isChat: false }

/** More would make a list of contacts, which is no longer what a question is read with. */
const peopleMax = 200

interface Draft {
  readonly names: Array<string>
  readonly relations: Array<{ readonly relation: string; readonly of: string | undefined }>
}

/** `speaking`: the names of those who speak as users, or `user`. */
export const peopleOf = (told: ReadonlyArray<ToldNaming>, speaking: ReadonlyArray<string>): People => {
  const namings = told.toSorted(inOrder)
  const named = speaking.filter((speaker) => speaker !== "user")
  // Of several who speak by name none is the user, unless the nameless one is.
  const isGroup = named.length > 1 || (named.length === 1 && speaking.length > 1)
  const user: Draft = { names: isGroup ? [] : [...named], relations: [] }
  const others: Array<Draft> = (isGroup ? named : []).map((speaker) => ({ names: [speaker], relations: [] }))
  const own = namings.filter(({ relation }) => relation === undefined)
  for (const { isAlias = false, name, of } of own) {
    const draft = of === undefined ? user : draftOf(of, user, others)
    if (draft.names.length === 0 || isAlias || draft.names.some((known) => sharesWord(known, name)))
      add(draft.names, name)
  }
  for (const { name, of, relation } of namings) {
    if (relation === undefined || isOf(user, name)) continue
    const draft = draftOf(name, user, others)
    const owner = of === undefined || isOf(user, of) ? undefined : of
    if (draft.relations.every((known) => known.relation !== relation || known.of !== owner))
      draft.relations.push({ relation, of: owner })
  }
  return {
    user: personOf(user),
    others: others.slice(0, peopleMax).flatMap((draft) => personOf(draft) ?? []),
    isGroup: isGroup && !speaking.includes("user"),
    isChat: speaking.length > 0
  }
}

const personOf = ({ names: [name, ...aliases], relations }: Draft): Person | undefined =>
  name === undefined ? undefined : { name, aliases, relations }

const draftOf = (name: string, user: Draft, others: Array<Draft>): Draft => {
  const known = [user, ...others].find((draft) => isOf(draft, name))
  if (known !== undefined) {
    add(known.names, name)
    return known
  }
  const draft: Draft = { names: [name], relations: [] }
  others.push(draft)
  return draft
}

const add = (names: Array<string>, name: string): void => {
  if (!names.includes(name)) names.push(name)
}

/** "Ada" is "Ada Hale", and neither is "Ada Stone" or "Tom Hale". */
const isOf = ({ names }: Draft, name: string): boolean => names.some((known) => isBeginning(known, name))

const isBeginning = (one: string, other: string): boolean => {
  const [shorter = [], longer = []] = [wordsOf(one), wordsOf(other)].sort((a, b) => a.length - b.length)
  return shorter.every((part, at) => part === longer[at])
}

const sharesWord = (one: string, other: string): boolean => {
  const words = new Set(wordsOf(one))
  return wordsOf(other).some((part) => words.has(part))
}

const wordsOf = (name: string): ReadonlyArray<string> => name.toLowerCase().split(" ")

/** All names of a person, the first one first. */
export const namesOf = ({ aliases, name }: Person): ReadonlyArray<string> => [name, ...aliases]

/**
 * The names that one message or fact gives to people: the speaker's own ("I'm Lena", "call me Len", an assistant's
 * "Welcome, Lena!") and those of others by their relation ("my sister Ada", "Lena's sister is called Ada"). Read by forms, in
 * English; nothing of what stands in quotation marks.
 */
export interface Naming {
  /** As it is written. */
  readonly name: string
  /** Relation of the named one to `of`, in lower case; absent: it is a name of `of`. */
  readonly relation?: string | undefined
  /** A name; absent: the user. */
  readonly of?: string | undefined
  /** Told as one name beside others ("call me Len"), which need not be known before. */
  readonly isAlias?: boolean | undefined
}

/** A place: milliseconds, and the order of insertion. */
interface SaidAt {
  readonly at: number
  readonly seq: number
}

export interface ToldNaming extends Naming, SaidAt {}

export const inOrder = (one: SaidAt, other: SaidAt): number => one.at - other.at || one.seq - other.seq

/** A message of a conversation. `speaker`: their name, or the role. */
interface SaidText {
  readonly text: string
  readonly speaker: string
  readonly isByUser: boolean
}

export const namingsInMessage = ({ isByUser, speaker, text: said }: SaidText): ReadonlyArray<Naming> => {
  const text = plainText(said)
  if (!isByUser) return addressed(text)
  const owner = speaker === "user" ? {} : { of: speaker }
  return [...ownNames(text), ...relatives(text)].map((naming) => ({ ...owner, ...naming }))
}

/** People introduce themselves at the start of a message; what comes later is often pasted. */
const readMax = 2_000
const plainText = (text: string): string =>
  text
    .slice(0, readMax)
    .replaceAll("\u2019", "'")
    .replaceAll(/"[^"]*(?:"|$)|“[^”]*(?:”|$)|«[^»]*(?:»|$)/g, " ")

const word = String.raw`(?!(?:${weekdayNames.join("|")})\b)\p{Lu}[\p{L}-]*\p{Ll}`
const name = `${word}(?: ${word}){0,2}`
const greeting = String.raw`(?:[Hh]i|[Hh]ello|[Hh]ey|[Ss]alut|[Hh]allo|[Gg]ood (?:morning|afternoon|evening|day))(?: there| everyone| all)?`
const behind = String.raw`(?=\s*(?:[,.!;:()–—]|$)| - | (?:and|from|here|by the way|but|your)\b)`

interface OwnForm {
  readonly pattern: RegExp
  readonly isAlias?: boolean | undefined
}

const ownForms: ReadonlyArray<OwnForm> = [
  { pattern: new RegExp(String.raw`\b[Mm]y (?:full |first |real )?name(?: is|'s) (${name})`, "u") },
  { pattern: new RegExp(String.raw`(?:^|[.;,!] )[Nn]ame:? (${name})(?=[.,;]|$)`, "mu") },
  { pattern: new RegExp(String.raw`(?<![\p{L}'])I(?:'m| am) (${name})${behind}`, "u") },
  {
    pattern: new RegExp(
      String.raw`^(?:${greeting}[,.! ]+)?(?:(?:[Tt]his is|[Ii]t's) (${name})|(${name}) here)${behind}`,
      "u"
    )
  },
  { pattern: new RegExp(String.raw`^(?:${greeting}[,.! ]+)(${name}), \d\d\b`, "u") },
  {
    pattern: new RegExp(
      String.raw`\b(?:[Cc]alls? me|I go by|I'm called|I am called|changed my name to) (${name})`,
      "u"
    ),
    isAlias: true
  }
]

/** "German" in "I'm German" is no name. */
const notNames = new Set(
  (
    "american argentinian australian austrian belgian brazilian british bulgarian canadian catholic chilean chinese " +
    "christian colombian croatian cuban czech danish dutch egyptian english estonian filipino finnish french german greek " +
    "hindu hungarian icelandic indian indonesian iranian iraqi irish israeli italian jamaican japanese jewish kenyan korean " +
    "latvian lebanese lithuanian mexican moroccan muslim nigerian norwegian pakistani persian peruvian polish portuguese " +
    "protestant romanian russian scottish serbian slovak spanish swedish swiss syrian thai tunisian turkish ukrainian " +
    "vietnamese welsh one two three four five six seven eight nine ten first second next last today tomorrow yesterday ok okay sorry thanks thank yes no oh hi hello hey dear god jesus well monday mum mom dad"
  ).split(" ")
)

const isName = (text: string): boolean => {
  const words = text.toLowerCase().split(" ")
  return !words.some((one) => notNames.has(one) || stopWords.has(one) || months.has(one))
}
/** "May" is also a name. */
const months = new Set(monthNames.map((name) => name.toLowerCase()).filter((name) => name !== "may"))

const ownNames = (text: string): ReadonlyArray<Naming> =>
  ownForms.flatMap(({ isAlias, pattern }) => {
    const found = pattern.exec(text)
    const own = found?.[1] ?? found?.[2]
    return own === undefined || !isName(own) ? [] : [{ name: own, ...(isAlias === true && { isAlias }) }]
  })

/** An assistant that greets, thanks or congratulates names the user. */
const kind = String.raw`(?:[Hh]i|[Hh]ello|[Hh]ey|[Ww]elcome(?: back)?|[Dd]ear|[Gg]ood (?:morning|afternoon|evening|night)|(?:to|[Gg]ood to|[Nn]ice to) meet you|[Tt]hanks?(?: you)?|[Cc]ongratulations|[Ww]ell done|[Ss]orry|[Bb]ravo)`
const vocative = new RegExp(String.raw`(?:^|[\s(])${kind},? (${name})(?=[,.!?])`, "u")

const addressed = (text: string): ReadonlyArray<Naming> => {
  const own = vocative.exec(text)?.[1]
  return own === undefined || !isName(own) ? [] : [{ name: own }]
}

/** Whom one has: family, friends, people of one's work and home, animals. */
const relations =
  "mother|mum|mom|mummy|father|dad|daddy|parent|sister|brother|sibling|twin|son|daughter|child|kid|baby|wife|husband|spouse|" +
  "partner|fianc[ée]e?|girlfriend|boyfriend|ex|aunt|auntie|uncle|cousin|niece|nephew|grandmother|grandma|granny|nan|grandfather|" +
  "grandpa|grandad|granddad|grandson|granddaughter|grandchild|stepmother|stepmum|stepmom|stepfather|stepdad|stepsister|" +
  "stepbrother|stepson|stepdaughter|(?:mother|father|sister|brother|son|daughter)-in-law|godmother|godfather|godson|goddaughter|" +
  "friend|mate|neighbou?r|flatmate|housemate|roommate|colleague|coworker|co-worker|boss|manager|supervisor|mentor|landlord|" +
  "landlady|doctor|gp|dentist|therapist|lawyer|accountant|teacher|tutor|coach|trainer|nanny|dog|puppy|cat|kitten|horse|rabbit|parrot"
const relation = `(?:${relations})`
const relationAlone = new RegExp(`^${relation}$`)

/** Whether the word says what one is to another: sister, boss, cat. */
export const isRelation = (text: string): boolean => relationAlone.test(text)

const quality = String.raw`(?:\p{Ll}+ ){0,2}?`
const link = "(?:'s name)?(?:,? (?:is |who is |who's )?(?:called|named)|'s called| is|,)?"
const owner = String.raw`(?:(?<mine>[Mm]y|[Oo]ur|[Tt]he user's|[Uu]ser's)|(?<whose>${word})'s)`
const relativeForms: ReadonlyArray<RegExp> = [
  new RegExp(`(?<!\\p{L})${owner} ${quality}(?<relation>${relation})${link} (?<name>${name})`, "gu"),
  new RegExp(`(?<name>${name})(?:'s| is|,) ${owner} ${quality}(?<relation>${relation})(?!['\\p{L}-])`, "gu"),
  new RegExp(
    `(?:(?<mine>[Uu]ser|I)|(?<whose>${word})) ha(?:s|ve) an? ${quality}(?<relation>${relation}),? (?:called |named )?(?<name>${name})`,
    "gu"
  )
]

/** Most texts have none, and the forms take twenty times as long. */
const anyRelation = new RegExp(`\\b${relation}`)

const relatives = (text: string): ReadonlyArray<Naming> =>
  (anyRelation.test(text) ? relativeForms : []).flatMap((form) =>
    Array.from(text.matchAll(form)).flatMap(({ groups = {} }) => {
      const { mine, name: named = "", relation: by = "", whose } = groups
      if (!isName(named) || (mine === undefined && (whose === undefined || !isName(whose)))) return []
      return [{ name: named, relation: by, ...(mine === undefined && { of: whose }) }]
    })
  )

const factName = new RegExp(
  String.raw`\b(?:[Tt]he )?(?:(?<mine>[Uu]ser)|(?<whose>${word}))(?:'s (?:full |first )?name is| is (?:called|named)| goes by) (?<name>${name})`,
  "u"
)

/** A fact is said of the user, or of somebody by name. */
export const namingsInFact = (data: unknown): ReadonlyArray<Naming> => {
  if (typeof data !== "object" || data === null) return []
  return Object.values(data).flatMap((value) => {
    if (typeof value !== "string") return []
    const text = plainText(value)
    const { mine, name: named, whose } = factName.exec(text)?.groups ?? {}
    const own =
      named === undefined || !isName(named) || (mine === undefined && whose !== named) ? [] : [{ name: named }]
    return [...own, ...relatives(text)]
  })
}

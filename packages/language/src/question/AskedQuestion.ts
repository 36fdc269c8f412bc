/**
 * Reads whom a question is about, and puts it into one form: the user is always "I", by whatever name, as "the user" or
 * "she", and a relative always the relation with the name ("my sister Ada"). So a search ranks alike however an agent
 * asks. Read by forms, in English; a question about an unknown person stays as it is.
 */
import { oneOf, phrases } from "../text/OneOf.ts"
import { isRelation, namesOf, type People, type Person } from "../people/People.ts"
import { stopWords } from "../text/Language.ts"
import { tokenize } from "../text/Tokenizer.ts"

export interface AskedQuestion {
  /** The question in one form. */
  readonly text: string
  /** Stems that stand for one person each: one term of the question. */
  readonly sames: ReadonlyArray<ReadonlySet<string>>
  /** How facts name the user, in lower case, if the question is about them; undefined: it is not. */
  readonly about: ReadonlySet<string> | undefined
}

export const askedQuestion = (question: string, people: People): AskedQuestion => {
  const plain = question.replaceAll("\u2019", "'")
  const own = people.isGroup ? plain : aboutUser(plain, people)
  const { sames, text } = withRelatives(own, people)
  const isAboutUser = !people.isGroup && firstPerson.test(text)
  const names = people.user === undefined ? [] : namesOf(people.user)
  const about = isAboutUser ? new Set(["user", "the user", ...names.map((name) => name.toLowerCase())]) : undefined
  return { text: own === plain && sames.length === 0 ? question : text, sames, about }
}

const firstPerson = /\b(?:I|[Mm]y|me|mine|myself)\b/

const aboutUser = (question: string, people: People): string => {
  const { user } = people
  const isLower = question === question.toLowerCase()
  const names = (user === undefined ? [] : namesOf(user)).flatMap((name) => [name, ...name.split(" ").slice(0, 1)])
  const written = [...new Set(isLower ? names.map((name) => name.toLowerCase()) : names)]
    .filter((name) => !stopWords.has(name))
    .sort((one, other) => other.length - one.length)
    .map((name) => name.replaceAll(/[^\p{L}\p{N} -]/gu, "."))
  const who = ["[Tt]h(?:e|is) user", ...written].join("|")
  const named = new RegExp(who, "u").test(question) ? inFirstPerson(question, who) : question
  return user !== undefined || people.isChat ? pronounsOf(named, people) : named
}

const auxiliaries: Readonly<Record<string, string>> = {
  is: "am",
  has: "have",
  does: "do",
  "doesn't": "don't",
  "hasn't": "haven't"
}
const auxiliary = "is|has|does|doesn't|hasn't"
/** Behind these somebody does something; behind other words something is done to them. */
const beforeSubject = oneOf(
  phrases(String.raw`
    do / am / have / don't / haven't / was / wasn't / were / did / didn't / had / can / can't / could / will
    won't / would / should / must / may / might / shall / that / when / where / what / which / who / whom / why
    how / and / if / because / before / after / since / while / until / than / or / as
    (?:how )?(?:much|many|long|often) \w+
  `),
  { before: String.raw`(?:^|[,;:?!.] *|\b`, after: " )$", flags: "i" }
)

/** `who`: a pattern of whom the question calls the user. */
const inFirstPerson = (question: string, who: string): string =>
  question
    .replaceAll(new RegExp(`(?<![\\p{L}'])(?:${who})'s(?![\\p{L}])`, "gu"), "my")
    .replaceAll(new RegExp(`(?<![\\p{L}'])(${auxiliary}) (?:${who})(?![\\p{L}'])`, "giu"), (_, verb: string) =>
      inCaseOf(verb, `${auxiliaries[verb.toLowerCase()]!} I`)
    )
    .replaceAll(
      new RegExp(`(?<![\\p{L}'])(?:${who}) (${auxiliary})(?![\\p{L}'])`, "gu"),
      (_, verb: string) => `I ${auxiliaries[verb]!}`
    )
    .replaceAll(new RegExp(`(?<![\\p{L}'])(?:${who})(?![\\p{L}'])`, "gu"), (_, at: number, whole: string) =>
      beforeSubject.test(whole.slice(0, at)) ? "I" : "me"
    )

const inCaseOf = (model: string, text: string): string =>
  /^\p{Lu}/u.test(model) ? text.charAt(0).toUpperCase() + text.slice(1) : text

const pronoun = /\b(?:[Ss]?[Hh]e|[Hh]er|[Hh]ers|[Hh]is|[Hh]im|[Hh](?:er|im)self)\b/
/** Behind "her" as an object. */
const endsPhrase =
  /^(?:\s*[?.!,;]|\s*$| (?:on|in|at|to|from|for|with|by|about|of|and|or|when|if|that|a|an|the|again|now|today)\b)/i

/** Pronouns are the user, unless somebody else is named before the first one. */
const pronounsOf = (question: string, people: People): string => {
  const first = question.search(pronoun)
  const before = question.slice(0, Math.max(0, first))
  // "Who lost his house?"
  const isOfWhom = /^who\b/i.test(before) && /^(?:his\b|her \w)/i.test(question.slice(first))
  if (first < 0 || isOfWhom || namesAnother(before, people)) return question
  return inFirstPerson(
    question
      .replaceAll(/\b(?:[Hh]er|[Hh]im)self\b/g, "myself")
      .replaceAll(/\b[Hh]ers\b/g, "mine")
      .replaceAll(/\bhim\b/g, "me")
      .replaceAll(/\bhis\b/g, "my")
      .replaceAll(/\bHis\b/g, "My")
      .replaceAll(/\bHer\b/g, "My")
      .replaceAll(/\bher\b/g, (_, at: number, whole: string) => (endsPhrase.test(whole.slice(at + 3)) ? "me" : "my")),
    "[Ss]?[Hh]e"
  )
}

const namesAnother = (before: string, people: People): boolean =>
  before.match(/[\p{L}'-]+/gu)?.some((word, at) => {
    const plain = word.replace(/'s$/, "")
    if (
      isRelation(plain) ||
      people.others.some((person) => namesOf(person).some((name) => name.split(" ").includes(plain)))
    )
      return true
    return (
      plain !== "I" &&
      /^\p{Lu}/u.test(plain) &&
      (at > 0 || !stopWords.has(plain.toLowerCase())) &&
      !/^(?:Wh|How|Name|List|Tell|On|At|In)/.test(plain)
    )
  }) ?? false

/** Names and relations that a question may write out; more would be an address book. */
const relativesMax = 20

const withRelatives = (question: string, people: People): Pick<AskedQuestion, "text" | "sames"> => {
  let text = question
  const sames: Array<ReadonlySet<string>> = []
  for (const { phrase, relation, person } of relativesOf(people)) {
    const names = namesOf(person).flatMap((name) => [name, name.split(" ")[0]!])
    const called = [...new Set(names)]
      .sort((one, other) => other.length - one.length)
      .map((name) => name.replaceAll(/[^\p{L}\p{N} -]/gu, "."))
    const asked = new RegExp(
      `(?<![\\p{L}'])(?:${phrase}(?:,? (?:${called.join("|")}))?|${called.join("|")})(?![\\p{L}])`,
      "u"
    )
    if (!asked.test(text)) continue
    const [first = person.name] = person.name.split(" ")
    text = text.replace(asked, `${phrase} ${first}`)
    sames.push(new Set([...tokenize(relation), ...namesOf(person).flatMap((name) => tokenize(name))]))
  }
  return { text, sames }
}

/** People who alone have their relation to somebody: the only sister of the user. */
const relativesOf = ({ others }: People) => {
  const found = new Map<
    string,
    Array<{ readonly phrase: string; readonly relation: string; readonly person: Person }>
  >()
  for (const person of others) {
    const [one] = person.relations
    if (one === undefined) continue
    const phrase = one.of === undefined ? `my ${one.relation}` : `${one.of}'s ${one.relation}`
    found.set(phrase, [...(found.get(phrase) ?? []), { phrase, relation: one.relation, person }])
  }
  return [...found.values()].flatMap((same) => (same.length === 1 ? same : [])).slice(0, relativesMax)
}

/**
 * The user's name, wherever it is given: a first pass over all messages finds it, so that facts stated
 * before the introduction carry it as well. A correction (`it is Bob, not Rob`) renames the person.
 */
import type { Turn } from "../extraction/Extractor.ts"
import type { Finding } from "./Finding.ts"
import { ownName } from "./IdentityRules.ts"
import { messageText } from "./MessageText.ts"
import type { People } from "./People.ts"
import { gate } from "./SentenceGate.ts"
import { writtenOut } from "../speech/WrittenOut.ts"
import { type Word, wordsOf } from "./Words.ts"

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

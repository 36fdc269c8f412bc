/**
 * Who is who among the memories of one agent and subject: the user with their names, and others with what they are to
 * whom. Made of what the visible memories tell, so no name comes from what is erased or not shown.
 *
 * Invariant: the first name that the user goes by decides; another one is an alias if it shares a word with a known one,
 * or is told as one. A name in a pasted text, or a guest at the keyboard, does not make another person the user.
 */
import { inOrder, type ToldNaming } from "./Namings.ts"

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

/**
 * What people and pets are to somebody, in English: `sister`, `boss`, `dog`; whether the word is of one or of several, and
 * which pronoun stands for it.
 */

export type Gender = "female" | "male" | "other"

/** The pronoun for a relation: `she`, `he` or `it`; undefined where the word leaves it open. */
const relationGenders: Readonly<Record<Gender, ReadonlyArray<string>>> = {
  female: words(
    "nan nana gran mother mom mum mama wife girlfriend sister daughter aunt grandmother grandma granny niece stepmother stepmom stepsister stepdaughter mother-in-law sister-in-law daughter-in-law fiancée goddaughter godmother bridesmaid"
  ),
  male: words(
    "father dad papa husband boyfriend brother son uncle grandfather grandpa granddad grandad nephew stepfather stepdad stepbrother stepson father-in-law brother-in-law son-in-law fiancé godson godfather"
  ),
  other: words(
    "childminder plumber hairdresser vet gardener cleaner physio barber electrician mechanic builder headteacher nurse secretary agent publisher editor partner spouse fiance fiancee friend cousin twin sibling child kid baby toddler grandson granddaughter grandchild roommate flatmate housemate neighbor neighbour colleague coworker co-worker boss manager supervisor mentor mentee assistant doctor dentist therapist gp physiotherapist lawyer accountant landlord landlady tenant teacher tutor coach trainer professor advisor student client teammate ex ex-husband ex-wife ex-boyfriend ex-girlfriend nanny babysitter godchild bandmate parent"
  )
}
const pluralRelations = words(
  "flatmates housemates colleagues coworkers teammates neighbours neighbors bandmates boys girls grandkids parents kids children sons daughters brothers sisters siblings twins grandparents grandchildren cousins friends cats dogs in-laws roommates nephews nieces triplets"
)
export const petWords = words(
  "dog cat puppy kitten hamster parrot rabbit bunny horse pony goldfish fish whippet turtle tortoise snake lizard gecko bird budgie canary ferret chinchilla cockatiel hedgehog rat mouse axolotl iguana retriever labrador poodle beagle corgi terrier spaniel dachshund bulldog husky collie shepherd greyhound tabby"
)
const qualities =
  "other|best|good|close|old|new|younger|older|little|big|elder|eldest|oldest|youngest|middle|twin|late|former|ex|future|half|step|dear|current|identical|first|second|only|golden|german|border|rescue|black|white|fat|family"

const relationSet: ReadonlySet<string> = new Set([...Object.values(relationGenders).flat(), ...petWords])
const pluralSet: ReadonlySet<string> = new Set(pluralRelations)
export const qualityPattern = new RegExp(`^(?:${qualities})$`, "i")

export const isRelation = (word: string): boolean => relationSet.has(word.toLowerCase())
export const isPluralRelation = (word: string): boolean => pluralSet.has(word.toLowerCase())
export const isPet = (word: string): boolean => petWords.includes(word.toLowerCase())

function words(list: string): ReadonlyArray<string> {
  return list.split(" ")
}

/** Gender of a relation in the speaker's words; undefined where the word does not tell. */
export const genderOf = (relation: string | undefined): Gender | undefined => {
  const head = relation?.split(" ").at(-1)?.toLowerCase()
  if (head === undefined) return undefined
  if (relationGenders.female.includes(head)) return "female"
  return relationGenders.male.includes(head) ? "male" : undefined
}

/** How texts call whom an agent works for. */
export const isUser = (subject: string): boolean => /^(?:the )?user$/i.test(subject)

/**
 * Related words: a question says "job", a memory says "works". A small English list made by hand, of the ways in which
 * people ask about themselves.
 *
 * Invariant: a relation only lets a memory support a question; it never adds a word to an answer.
 */
import { tokenize } from "@muniment/engine/text/Tokenizer"

const SYNONYM = 0.8
const INSTANCE = 0.7

/** Groups of words that may replace each other. */
const synonyms: ReadonlyArray<string> = [
  "live lives home reside moved move relocated based address city town apartment flat house rent rents",
  "work works job employed employer employment company occupation profession career position",
  "born birth birthday",
  "name named called nickname",
  "married marry spouse wedding husband wife partner anniversary",
  "husband partner boyfriend fiance",
  "wife partner girlfriend fiancee",
  "child children kid kids son daughter baby",
  "sibling siblings brother sister",
  "parent parents mother father mum mom dad",
  "like likes liked love loves enjoy enjoys favorite favourite prefer prefers fond fan into",
  "dislike dislikes hate hates avoid avoids stand",
  "want wants wish plan plans hope",
  "need needs require requires",
  "allergy allergies allergic intolerant intolerance",
  "diet vegetarian vegan pescatarian eat eats food",
  "travel travels trip visit visits visiting visited vacation holiday flight fly flies flew flying going go goes went journey",
  "buy buys bought purchase purchased order ordered",
  "meet meets met meeting appointment",
  "see saw seen",
  "begin begins began start starts started",
  "study studies studied studying school university college degree graduated major",
  "speak speaks spoke language languages fluent",
  "talk talks talked call calls called speak phone discuss conversation",
  "come comes came join joins joined attend attends attended along accompany accompanies",
  "car drive drives drove driving vehicle",
  "medication medicine take takes took pill pills tablet drug dose dosage",
  "sick ill illness condition disease",
  "hobby hobbies pastime sport",
  "run runs ran running marathon race",
  "age old years",
  "phone telephone mobile number",
  "mail email",
  "cost costs price paid pay spent",
  "color colour",
  "film movie",
  "give gave given gift present",
  "teach teaches taught teacher",
  "write writes wrote writing written",
  "read reads book",
  "own owns have",
  "manager boss",
  "friend friends",
  "colleague coworker",
  "doctor physician",
  "build builds built building",
  "lose lost",
  "leave left quit quits",
  "get got adopt adopted",
  "learn learns learning learned",
  "play plays playing played",
  "scared afraid fear phobia",
  "grow grew grown",
  "die died dies death dead",
  "open opens opened opening launch launches",
  "tolerate tolerates intolerant allergic allergy",
  "sell sells sold",
  "win wins won",
  "break breaks broke broken"
]

const occupations =
  "engineer nurse teacher doctor developer programmer designer chef cook lawyer writer journalist artist musician manager " +
  "student electrician plumber carpenter architect scientist researcher consultant retired freelance freelancer runs studio shop business"

/** A general term, and the words that are an example of it. */
const instances: Readonly<Record<string, string>> = {
  drink: "tea coffee beer wine water juice milk soda whisky cocktail espresso latte beverage",
  beverage: "tea coffee beer wine water juice milk soda drink",
  food: "pizza sushi pasta cheese bread meat fish fruit vegetable vegetables dish cuisine meal cook curry soup salad chocolate spicy ramen peanuts nuts gluten dairy shellfish mushrooms",
  eat: "pizza sushi pasta cheese bread meat fish fruit vegetable vegetables dish cuisine meal curry soup salad chocolate spicy ramen peanuts nuts gluten dairy shellfish mushrooms",
  cuisine: "italian japanese thai indian mexican french chinese korean",
  pet: "dog cat rabbit hamster parrot bird fish horse puppy kitten tortoise",
  animal: "dog cat rabbit hamster parrot bird fish horse puppy kitten tortoise pet",
  color: "red blue green yellow black white purple orange pink brown teal grey gray",
  colour: "red blue green yellow black white purple orange pink brown teal grey gray",
  sport:
    "football soccer tennis basketball climbing swimming running cycling yoga hockey golf rowing skiing surfing badminton",
  exercise: "football tennis climbing swimming running cycling yoga gym run rowing pilates",
  music: "jazz rock pop classical band song guitar piano concert techno opera",
  instrument: "guitar piano violin cello drum drums flute saxophone trumpet ukulele",
  language:
    "english spanish french german italian japanese chinese mandarin portuguese russian arabic korean dutch polish welsh",
  family: "mother father sister brother son daughter husband wife parents cousin aunt uncle grandmother grandfather",
  relative: "mother father sister brother cousin aunt uncle grandmother grandfather",
  vegetarian: "meat vegan",
  summer: "june july august",
  autumn: "september october november",
  winter: "december january february",
  spring: "march april may",
  season: "spring summer autumn fall winter",
  health: "allergic allergy asthma diabetes doctor medication migraine injury",
  condition: "allergic allergy asthma diabetes migraine arthritis epilepsy anxiety",
  illness: "allergic allergy asthma diabetes migraine arthritis epilepsy anxiety",
  profession: occupations,
  occupation: occupations,
  job: occupations,
  work: occupations,
  career: occupations,
  vehicle: "car bike bicycle motorcycle van truck",
  device: "phone laptop tablet computer camera watch"
}

/** Stems that may stand for the term, with their weight. */
export const relatedTerms = (term: string): ReadonlyMap<string, number> => related.get(term) ?? none

const none: ReadonlyMap<string, number> = new Map()

const stems = (row: string): ReadonlyArray<string> => [...new Set(tokenize(row))]

const relate = (): ReadonlyMap<string, ReadonlyMap<string, number>> => {
  const relations = new Map<string, Map<string, number>>()
  const add = (from: string, to: string, weight: number): void => {
    if (from === to) return
    const known = relations.get(from) ?? new Map<string, number>()
    known.set(to, Math.max(known.get(to) ?? 0, weight))
    relations.set(from, known)
  }
  for (const row of synonyms.map(stems)) for (const from of row) for (const to of row) add(from, to, SYNONYM)
  for (const [asked, row] of Object.entries(instances)) {
    for (const from of stems(asked)) for (const to of stems(row)) add(from, to, INSTANCE)
  }
  return relations
}

const related = relate()

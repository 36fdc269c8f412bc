/**
 * States of a person of which one excludes the others: with a girlfriend one is not single, with meat no vegan. A newer
 * statement of another state leaves open whether the older one still holds. Rows are data: the words of each state; a
 * word may stand in several.
 */
import { tokenize } from "@muniment/engine/text/Tokenizer"

const families: ReadonlyArray<ReadonlyArray<string>> = [
  [
    "single bachelor unattached",
    "girlfriend boyfriend dating relationship partner",
    "engaged engagement fiance fiancee partner",
    "married wife husband spouse honeymoon newlywed partner",
    "divorced divorce separated",
    "widow widower widowed"
  ],
  [
    "vegan",
    "vegetarian milk cheese yoghurt egg eggs butter",
    "pescatarian fish salmon tuna cod herring seafood prawns shrimp oysters",
    "carnivore meat beef pork lamb chicken turkey duck steak burger bacon ham sausage sausages salami"
  ],
  ["pregnant pregnancy trimester", "born birth newborn miscarriage miscarried"],
  ["job employed employee hired boss salary", "unemployed jobless redundant", "retired retirement pensioner"],
  ["student pupil enrolled", "graduated graduate alumnus"],
  ["sober teetotal teetotaller abstinent", "beer wine whisky gin vodka cocktail cocktails drunk"],
  ["atheist agnostic", "christian catholic protestant baptised baptized", "muslim", "jewish", "buddhist", "hindu"]
]

const states = families.map((family) => family.map((words) => new Set(tokenize(words))))

/** Stems of the states that exclude one of these words; empty where none is known. */
export const statesAgainst = (terms: ReadonlyArray<string>): ReadonlySet<string> => {
  const against = new Set<string>()
  for (const family of states) {
    const own = family.filter((state) => terms.some((term) => state.has(term)))
    if (own.length === 0) continue
    for (const stem of family.flatMap((state) => [...state])) {
      if (!own.some((state) => state.has(stem))) against.add(stem)
    }
  }
  return against
}

/**
 * Any number of sentences as agents remember them, for tests that need real text: who, what and when,
 * combined in an order that spreads the combinations, so that a prefix is already varied. Made from
 * words of our own: no licence travels with them, and equal counts give equal texts.
 */

const people = [
  "Alice",
  "Bogdan",
  "Chiara",
  "Deniz",
  "Ebba",
  "Farid",
  "Grace",
  "Hiro",
  "Ines",
  "Jonas",
  "Katya",
  "Liam",
  "Mei",
  "Nadia",
  "Oskar",
  "Priya",
  "Quentin",
  "Rosa",
  "Samir",
  "Tove",
  "Umar",
  "Vera",
  "Wim",
  "Ximena",
  "Yusuf",
  "Zoe",
  "the night shift",
  "the design team",
  "my landlord",
  "our dentist",
  "the new intern",
  "the choir"
]

const facts = [
  ["drinks green tea without sugar", "drink"],
  ["is allergic to peanuts and hazelnuts", "be allergic to"],
  ["lives in a flat above the bakery in Porto", "live in"],
  ["repaired the heating with a borrowed wrench", "repair"],
  ["plays the viola in an amateur quartet", "play"],
  ["wants the quarterly report as a spreadsheet", "want the report to be"],
  ["cycles to the office unless it snows", "travel by"],
  ["deployed the payment service to the second cluster", "deploy"],
  ["prefers window seats on long flights", "sit on a flight"],
  ["reads historical novels about the Hanse", "read"],
  ["forgot the passport at the hotel reception", "forget"],
  ["planted tomatoes and basil on the balcony", "plant"],
  ["speaks Portuguese with an accent of the islands", "speak"],
  ["moved the database to a larger machine", "move the database to"],
  ["watched the lunar eclipse from the harbour", "watch"],
  ["pays the rent by standing order", "pay the rent"],
  ["adopted a three-legged cat called Captain", "adopt"],
  ["is training for the half marathon", "train for"],
  ["booked a table for six at the Vietnamese place", "book"],
  ["turns off notifications after eight", "switch off"],
  ["found a leak behind the washing machine", "find behind the washing machine"],
  ["translates user manuals from Japanese", "translate"],
  ["asked for the invoice in euros", "ask for"],
  ["lost two chess games against a child", "lose"],
  ["bakes rye bread from an old starter", "bake"],
  ["rewrote the parser to stream its input", "rewrite"],
  ["collects stamps with lighthouses", "collect"],
  ["needs reading glasses for the small print", "need glasses for"],
  ["missed the last ferry to the mainland", "miss"],
  ["votes for the shorter meeting", "vote for"],
  ["painted the kitchen in a pale yellow", "paint"],
  ["takes iron tablets with orange juice", "take tablets with"]
] as const

const times = [
  "on Monday morning",
  "since the spring",
  "before the merger",
  "during the holidays",
  "every second week",
  "as of last year",
  "after the storm",
  "when guests come"
]

/** The greatest common divisors of these with the list's sizes are 1, so each walk visits everything. */
const [factStride, timeStride] = [7, 3]

/** At most 8,192 distinct sentences. */
export const sentences = (count: number): ReadonlyArray<string> =>
  Array.from({ length: count }, (_, at) => {
    const person = people[at % people.length]!
    const round = Math.floor(at / people.length)
    const [fact] = facts[(at * factStride + round) % facts.length]!
    const time = times[(at * timeStride + Math.floor(round / facts.length)) % times.length]!
    return `${person} ${fact} ${time}`
  })

/** Questions that such sentences answer. */
export const questions = (count: number): ReadonlyArray<string> =>
  Array.from({ length: count }, (_, at) => {
    const [, activity] = facts[(at * factStride) % facts.length]!
    return `What did ${people[(at + Math.floor(at / people.length)) % people.length]!} ${activity}?`
  })

/** Where it is not clear whose statement it is, whether it is denied or holds, nothing of the user's is kept. */
import { describe, expect, it } from "@effect/vitest"
import { brief, briefs, read, said } from "./reading.ts"

const nothing: ReadonlyArray<readonly [kind: string, messages: ReadonlyArray<string>]> = [
  [
    "in a frame",
    [
      "Generate test data like this: I am Anna. I live in Basel. I work at Roche.",
      "Make up a persona: I'm 45, I live in Basel, I work at Roche.",
      "Draft a cover letter for my sister. I am a nurse. I live in Utrecht.",
      "I am a nurse from Utrecht. Put that into Dutch please.",
      "Continue the story: I am a sailor. I live on a boat.",
      "Repeat after me: my name is Oskar",
      "My mom texted me: I'm moving to Lisbon in May.",
      "The note on the fridge says: I am allergic to cats.",
      "**Ivo:** I'm allergic to nuts\n**Mira:** I live in Zadar",
      "Interviewer: what do you do?\nMe: I am a baker.",
      "Relevant memories:\n- My name is Ivo\n- I am a baker",
      "Fwd: I live in Split",
      "Tell my boss I'm sick and I live in Rome.",
      "Is this sentence correct? I live in Rome since three years.",
      "You are my therapist and I am a banker called Tim. I live in London."
    ]
  ],
  [
    "supposed",
    [
      "Let's say I'm 40. I have two kids and a house.",
      "Assume I am a vegan. I live in Bern.",
      "Hypothetically, I have three kids.",
      "In another life I'm a baker.",
      "For example, I live in Rome."
    ]
  ],
  [
    "denied, or all but denied",
    [
      "I like neither coffee nor tea.",
      "I don't like or eat pork.",
      "I like opera about as much as toothache.",
      "I like few people.",
      "I can't not like chocolate.",
      "I live neither in Rome nor in Milan.",
      "I almost moved to Porto.",
      "I hardly eat meat.",
      "I never said I live in Rome.",
      "I doubt I like olives."
    ]
  ],
  [
    "taken back",
    [
      "I live in Rome lol jk",
      "I work at NASA (not really).",
      "I work at NASA, I wish.",
      "I moved to Hawaii. In my dreams.",
      "I love Mondays, said no one ever."
    ]
  ],
  ["a number of whom no name says", ["You can reach my wife at 555 1234."]],
  [
    "past as a taste",
    [
      "I was into pottery.",
      "I was a big fan of opera.",
      "I loved jazz when I was young.",
      "I hated fish as a kid, now it's fine."
    ]
  ],
  ["of somebody else", ["He's called Baraka.", "I met a watchman, he's called Baraka.", "He lives in Ghana."]]
]

describe("nothing is kept of what is", () => {
  for (const [kind, messages] of nothing)
    for (const message of messages) it(`${kind}: ${JSON.stringify(message)}`, () => expect(briefs(message)).toEqual([]))
})

describe("of others", () => {
  const rows: ReadonlyArray<readonly [message: string, kept: ReadonlyArray<string>]> = [
    ["My wife is allergic to nuts.", ["user's wife: The user's wife is allergic to nuts"]],
    ["Unlike my brother, I don't drink.", ["user: The user does not drink"]],
    ["Her name is Belén, she's a vet.", ["Belén: Belén is a vet"]],
    ["She has a dog called Rex.", []],
    ["I bought hers and sold mine for parts.", []],
    ["The workshop is mine from 1 May.", ["user @ 2026-05-01: The workshop is the user's"]],
    ["My father in law knows a roofer, Piet Mertens, he's coming on Wednesday", []],
    ["Ruben goes to daycare from August, three days a week.", []],
    ["I work from home on mon and fri.", []],
    ["I am the driver.", []],
    ["ok went with Nordlink in the end, technician comes on the 26th", []],
    ["Of the six of us I'm the oldest.", []],
    ["Greta is my aunt. Oluchi is starting school, she's six.", ["user: The user's aunt is called Greta"]],
    [
      "My sister Mio who lives in Fukuoka is a dyer.",
      ["user: The user's sister is called Mio", "Mio: Mio lives in Fukuoka", "Mio: Mio is a dyer"]
    ],
    ["My dog is a lawyer.", []],
    ["We're 8.", []]
  ]
  for (const [message, kept] of rows)
    it(`what is said is theirs: ${message}`, () => expect(briefs(message)).toEqual(kept))
})

const replied = (question: string, answer: string): ReadonlyArray<string> =>
  read({
    messages: [
      { role: "assistant", content: question },
      { role: "user", content: answer }
    ]
  }).candidates.map(brief)

describe("a short reply", () => {
  const noValues: ReadonlyArray<readonly [question: string, answers: ReadonlyArray<string>]> = [
    ["What is your name?", ["Banana split please", "Guess!", "Monday", "Tell me yours first", "In a minute"]],
    ["Where do you live?", ["Guess!", "Classified", "Nowhere", "Good question", "Never mind", "Next to a bakery"]],
    ["Where do you work?", ["Nowhere", "Everywhere", "Secret", "Too many places"]],
    ["Where are you from?", ["Take a guess", "Your mom"]],
    ["How old are you?", ["Old enough", "999", "Two beers please", "12 o'clock"]],
    ["What do you do for a living?", ["Breathe", "This and that", "Let's move on"]],
    ["What languages do you speak?", ["Body language", "Sarcasm"]],
    ["What is your phone number?", ["New one soon"]],
    ["Do you prefer tea or coffee?", ["Neither", "Depends", "Both"]],
    ["What's your dog called?", ["Bad dog"]],
    ["What is your favourite food?", ["Anything", "Next question"]]
  ]
  for (const [question, answers] of noValues)
    for (const answer of answers)
      it(`is no value without its form: ${question} ${answer}`, () => expect(replied(question, answer)).toEqual([]))

  const values: ReadonlyArray<readonly [question: string, answer: string, kept: string]> = [
    ["What is your name?", "Oskar Lind", "Oskar Lind: The user's name is Oskar Lind"],
    ["Where do you live?", "In Rome.", "user: The user lives in Rome"],
    ["Where do you work?", "Bosch", "user: The user works at Bosch"],
    ["How old are you?", "34", "user: The user is 34 years old"],
    ["Do you have pets?", "Two cats", "user: The user has two cats"]
  ]
  for (const [question, answer, kept] of values)
    it(`is the value that was asked for: ${question} ${answer}`, () =>
      expect(replied(question, answer)).toEqual([kept]))
})

describe("a state that has ended", () => {
  const attributeOf = (before: string, now: string) =>
    read({ context: said(before), messages: said(now) }).candidates.map(({ slot }) => slot?.attribute)
  const rows: ReadonlyArray<readonly [before: string, now: string, attribute: string]> = [
    ["I work at Initech.", "I quit my job yesterday.", "employer"],
    ["I work at Initech.", "I got laid off.", "employer"],
    ["I work at Initech.", "I left Initech.", "employer"],
    ["I work at Initech.", "I've retired.", "employer"],
    ["I live in Rome.", "Just kidding, I don't live in Rome.", "home"],
    ["I live in Rome.", "I no longer live in Rome.", "home"],
    ["I live in Rome.", "I moved out of Rome.", "home"],
    ["I'm married to Helen.", "We got divorced.", "relationship"],
    ["I'm vegan.", "I'm not vegan any more.", "diet"]
  ]
  for (const [before, now, attribute] of rows)
    it(`takes the place of what it ends: ${now}`, () => expect(attributeOf(before, now)).toEqual([attribute]))

  it("of another value leaves it", () => {
    expect(attributeOf("I live in Oslo.", "I don't live in Rome.")).not.toContain("home")
    expect(attributeOf("I live in Oslo.", "I left Rome.")).toEqual([])
  })
})

/** Whose words the statements of a message are: what stands in a frame is none of its writer's. */
import { describe, expect, it } from "@effect/vitest"
import { framesOf } from "@muniment/insight/speech/Frames"
import { readSpeech, withdraws } from "@muniment/insight/speech/OwnSpeech"

/** Frame types of the statements, `own` for the writer's. */
const framesIn = (message: string): ReadonlyArray<string> => [
  ...new Set(readSpeech(message).map(({ frame = "own" }) => frame))
]

const framed: ReadonlyArray<readonly [message: string, frame: string]> = [
  ["[Ivo]: I live in Split", "dialogue"],
  ["**Ivo**: I live in Split", "dialogue"],
  ["@ivo: I live in Split", "dialogue"],
  ["<Ivo> I live in Split", "dialogue"],
  ["ivo: i live in split", "dialogue"],
  ["Ivo (10:32): I live in Split", "dialogue"],
  ["[12/05/2024, 10:32] Ivo: I live in Split\n[12/05/2024, 10:33] Mira: me too", "dialogue"],
  ["Ivo Peric, 10:32 AM\nI live in Split.", "dialogue"],
  ["User: I live in Split\nAssistant: Nice!", "dialogue"],
  ["My daughter wrote: I am seven. I like cats.", "dialogue"],
  ["Relevant memories:\n- I am a baker\n- I live in Split", "paste"],
  ["From: ivo@example.org\nSubject: hello\n\nHi Mira,\n\nI live in Split now.\n\nBest,\nIvo", "paste"],
  ["On Mon, 3 Mar 2025, Ivo Peric wrote:\nI am a baker.", "paste"],
  ["-----Original Message-----\nI am a baker.", "paste"],
  ["Dear Mira,\nI live in Split now.\nYours, Ivo", "paste"],
  ["Here's the text she sent. I live in Split.", "paste"],
  ["Ivo said\nI live in Split.", "paste"],
  ["Generate test data like this: I am Anna. I live in Basel.", "draft"],
  ["Draft a cover letter for my sister. I am a nurse. I live in Utrecht.", "draft"],
  ["Translate the following into German. I live in Boston.", "draft"],
  ["I live in Boston. Translate this into German.", "draft"],
  ["My name is Oskar. I am a baker. Please correct my grammar.", "draft"],
  ["Suppose I lived in Rome. I work at Google.", "supposition"],
  ["For example, I live in Rome. I work at Google.", "supposition"],
  ["Pretend that I'm a pilot. I live in Rome.", "play"],
  ["> I live in Split", "quotation"],
  ["“I live in Split and I am a baker”", "quotation"],
  ["«I live in Split. I am a baker.»", "quotation"],
  ["```\nI live in Split\n```", "code"]
]

const own: ReadonlyArray<string> = [
  "I live in Rome. I work at Bosch.",
  "Update: I moved to Porto.",
  "Fun fact: I have three sisters.",
  "One thing for all: I don't work on Fridays.",
  "Remember: I'm allergic to latex.",
  "Put this down: I have a review on 14 May.",
  "About me: I'm a nurse and I love jazz.",
  "I love three things: my dog, my cat and jazz.",
  "Allergies: nuts\nCity: Rome",
  "Suggest a restaurant in Basel. I'm vegan.",
  "Write me a recipe for a cake. I'm allergic to nuts.",
  'My dog "Rex" is a beagle.',
  "It's at 10:30, I work until 18:00."
]

describe("frames", () => {
  for (const [message, frame] of framed) {
    it(`are seen in the whole message: ${JSON.stringify(message)}`, () => expect(framesIn(message)).toEqual([frame]))
  }
  for (const message of own) {
    it(`are not seen in ${JSON.stringify(message)}`, () => expect(framesIn(message)).toEqual(["own"]))
  }
  it("leave what is said before them", () => {
    const message = "I work at Bosch. My sister texted me: I quit my job. I hate it."
    const [frame] = framesOf(message)
    expect(message.slice(0, frame?.start)).toBe("I work at Bosch. ")
    expect(frame?.end).toBe(message.length)
  })
  it("end with their mark", () =>
    expect(framesIn('> I am a baker\nI work at Bosch.\n"I am Ivo"')).toEqual(["quotation", "own"]))
})

describe("a statement", () => {
  const subjects: ReadonlyArray<readonly [sentence: string, type: string, words: string]> = [
    ["I am allergic to nuts.", "speaker", ""],
    ["Yesterday we moved to Ghent.", "speaker", ""],
    ["My wife and I live in Ghent.", "speaker", ""],
    ["My wife is allergic to nuts.", "owned", "wife"],
    ["My cousin's husband is a pilot.", "owned", "cousin's husband"],
    ["Anna is vegan.", "named", "Anna"],
    ["Lena moved to Hamburg.", "named", "Lena"],
    ["She lives in Rome.", "pronoun", "She"],
    ["You live in Madrid.", "listener", "You"],
    ["The plumber has two kids.", "other", "The plumber has two kids"],
    ["It is my husband who is diabetic.", "other", ""],
    ["One of my patients is allergic to latex.", "other", "One of my patients is allergic to latex"]
  ]
  for (const [sentence, type, words] of subjects) {
    it(`tells of its subject: ${sentence}`, () => expect(readSpeech(sentence)[0]?.subject).toEqual({ type, words }))
  }
  it("tells of the speaker behind a contrast", () => {
    expect(readSpeech("Unlike my brother, I don't drink.").at(-1)?.subject.type).toBe("speaker")
    expect(readSpeech("My sister is vegan but I eat meat.").map(({ subject }) => subject.type)).toEqual([
      "owned",
      "speaker"
    ])
  })

  const moods: ReadonlyArray<readonly [message: string, mood: string]> = [
    ["I live in Rome.", "stated"],
    ["Do I live in Rome?", "asked"],
    ["Maybe I am allergic to nuts.", "supposed"],
    ["In another life I'm a baker.", "supposed"],
    ["My son says I live in the past.", "reported"],
    ["I never said I live in Rome.", "reported"],
    ["Tell my boss that I'm sick.", "reported"],
    ["According to Ana, I live in Split.", "reported"],
    ["I work at NASA, I wish.", "withdrawn"],
    ["I live in Rome. Just kidding.", "withdrawn"]
  ]
  for (const [message, mood] of moods) {
    it(`has its mood: ${message}`, () => expect(readSpeech(message)[0]?.mood).toBe(mood))
  }
  it("may deny, or be over", () => {
    const told = (message: string) => readSpeech(message).map(({ isNegated, isOver }) => [isNegated, isOver])
    expect(told("I like neither coffee nor tea.")).toEqual([[true, false]])
    expect(told("I hardly eat meat.")).toEqual([[true, false]])
    expect(told("I got laid off.")).toEqual([[false, true]])
    expect(told("I was a nurse once.")).toEqual([[false, true]])
    expect(told("I was born in Rome.")).toEqual([[false, false]])
    expect(told("I like a few people.")).toEqual([[false, false]])
  })
  it("of the message before may be taken back", () => {
    expect(withdraws("Just kidding, I don't live in Rome.")).toBe(true)
    expect(withdraws("I don't live in Rome.")).toBe(false)
  })
})

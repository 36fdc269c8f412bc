/** Whose words the statements of a message are: what stands in a frame is none of its writer's. */
import { describe, expect, it } from "@effect/vitest"
import { framesOf } from "@muniment/language/speech/Frames"

/** Types of the frames, and `own` for what the writer says beside them, in order. */
const framesIn = (message: string): ReadonlyArray<string> => {
  const frames = framesOf(message)
  const isOwn = (start: number, end: number): boolean => /\p{L}/u.test(message.slice(start, end))
  const before = frames.flatMap(({ start, type }, at) => [
    ...(isOwn(frames[at - 1]?.end ?? 0, start) ? ["own"] : []),
    type
  ])
  return [...new Set([...before, ...(isOwn(frames.at(-1)?.end ?? 0, message.length) ? ["own"] : [])])]
}

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
  ["ROSA: I live in Split\nIVO: me too", "dialogue"],
  ["USER: I live in Split", "dialogue"],
  ["Tour guide: I live in Split", "dialogue"],
  ["my old neighbour: I live in Split", "dialogue"],
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
  ["I live in Split, she says.", "quotation"],
  ["I live in Split and I'm a baker, said the frog.", "quotation"],
  ["I was born in Split, my neighbour told me.", "quotation"],
  ["As the song goes, I'm a barbie girl.", "quotation"],
  ["1. User lives in Split\n2. User likes tea", "quotation"],
  ["- The user's name is Ivo\n- The user is a baker", "quotation"],
  ["### Instruction\nI live in Split\n### Response", "paste"],
  ["<|im_start|>user\nI live in Split<|im_end|>", "paste"],
  ["ivo> i live in split\nmira> me too", "dialogue"],
  ["Ivo — Today at 3:04 PM\nI live in Split", "dialogue"],
  ["Ivo\nI live in Split\nMira\nI live in Ulm", "dialogue"],
  ["The essay starts like this. I live in Split.", "paste"],
  ["Make this more formal: I live in Split and wanna work for u", "draft"],
  ["Grammar check -> I lives in Split", "draft"],
  ["I want you to be me: I live in Split.", "play"],
  ["Simulate a customer. I live in Split.", "play"],
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
  "SPEC: I'd picked the blue one, we use Postgres.",
  "Build target: I want arm64 only.",
  "garden furniture: we sold the bench",
  "It's at 10:30, I work until 18:00.",
  "I live in Rome, as my mother says too often.",
  "I like Rome, Ivo said he does too.",
  "As I said, I live in Rome.",
  "User interviews are my job.",
  "Ivo\nI live in Rome, see you",
  "Make it a rule: I don't work on Fridays.",
  "Rome -> I live there.",
  "My day starts like this. I get up at six.",
  "I want you to be my memory: I live in Rome."
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

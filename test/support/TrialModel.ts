/** A language model that reads the conversations of `muniment models try` well: what it replies to each request. */
import { sectionOf } from "./FencedPrompt.ts"
import type { ModelRequest } from "./ModelServer.ts"
import { answer, type ModelReply, text } from "./ModelServerReplies.ts"

/** Words of a message, what a careful reader remembers of it, and what that takes the place of. */
const read: ReadonlyArray<readonly [quote: string, about: string, text: string, before?: RegExp]> = [
  ["work as a dental nurse", "Marta", "Marta works as a dental nurse"],
  ["with my cat Biscuit", "Marta", "Marta has a cat called Biscuit"],
  ["My brother Paulo collects old maps", "Paulo", "Paulo collects old maps"],
  ["he turns 40 on 21 March", "Paulo", "Paulo turns 40 on 21 March"],
  ["moved to Braga", "Marta", "Marta moved to Braga", /Porto/],
  ["I must not eat gluten any more", "user", "The user must not eat gluten"],
  ["My daughter Ines is six", "Ines", "Ines is six"],
  ["She is afraid of dogs", "Ines", "Ines is afraid of dogs"],
  ["Ines's football is on Thursdays", "Ines", "Ines's football is on Thursdays", /Tuesday/],
  ["Her new coach is called Bea", "Ines", "Ines's new coach is called Bea"],
  ["moving to Canada", "Tom", "Tom is moving to Canada"],
  ["Yuki is in charge of the Alder project", "Yuki", "Yuki is in charge of the Alder project"],
  ["the deadline of Alder is 29 May now", "Alder", "The deadline of Alder is 29 May", /15 May|05-15/],
  ["Our office is at 12 Mill Street", "office", "The office is at 12 Mill Street"],
  ["I never take meetings before ten", "user", "The user never takes meetings before ten"],
  ["my coffee is black", "user", "The user's coffee is black"],
  ["On 3 June I fly to Oslo for a trade fair", "user", "On 3 June the user flies to Oslo for a trade fair"],
  ["I will stay at the Hotel Lind", "user", "The user will stay at the Hotel Lind"]
]

const answered: ReadonlyArray<readonly [question: RegExp, answer: string, words: string]> = [
  [/where do i live/i, "You moved to Braga.", "moved to Braga"],
  [/paulo collect/i, "Paulo collects old maps.", "collects old maps"],
  [/paulo's birthday/i, "Paulo turns 40 on 21 March.", "turns 40 on 21 March"],
  [/have football/i, "Ines's football is on Thursdays.", "football is on Thursdays"],
  [/must i not eat/i, "You must not eat gluten.", "must not eat gluten"],
  [/moving to canada/i, "Tom is moving to Canada.", "moving to Canada"],
  [/deadline/i, "The deadline of Alder is 29 May.", "29 May"],
  [/my coffee/i, "Your coffee is black.", "coffee is black"],
  [/which hotel/i, "You will stay at the Hotel Lind.", "Hotel Lind"]
]

/** `readsNothing`: a model that finds nothing and knows nothing. */
export const trialModel =
  ({ readsNothing = false } = {}) =>
  (request: ModelRequest): ModelReply => {
    const { prompt } = request
    if (prompt.includes("sky at noon")) return answer({ colour: "blue", suns: 1 })
    if (!prompt.includes("BEGIN ")) return text("one, two, three")
    const isQuestion = sectionOf(prompt, "QUESTION").length > 0
    if (isQuestion) return answer(readsNothing ? { known: "no", sentences: [] } : replyTo(prompt))
    return answer(readsNothing ? { memories: [], withhold: [] } : extractionOf(prompt))
  }

const replyTo = (prompt: string) => {
  const question = JSON.stringify(sectionOf(prompt, "QUESTION"))
  const [, said = "", words = ""] = answered.find(([asked]) => asked.test(question)) ?? []
  const citations = sectionOf(prompt, "MEMORIES").flatMap((memory, at) =>
    words !== "" && JSON.stringify(memory).includes(words) ? [at + 1] : []
  )
  return citations.length === 0
    ? { known: "no", sentences: [] }
    : { known: "yes", sentences: [{ text: said, citations }] }
}

const extractionOf = (prompt: string) => {
  const messages = sectionOf(prompt, "MESSAGES") as ReadonlyArray<{ readonly n: number; readonly text: string }>
  const known = sectionOf(prompt, "KNOWN") as ReadonlyArray<{ readonly id?: string; readonly text: string }>
  return {
    memories: read.flatMap(([quote, about, text, before]) => {
      const source = messages.find((message) => message.text.includes(quote))
      if (source === undefined) return []
      const old = before === undefined ? undefined : known.find((line) => before.test(line.text))
      return [{ ...(old?.id !== undefined && { op: "replace", id: old.id }), about, text, n: [source.n], quote }]
    }),
    withhold: []
  }
}

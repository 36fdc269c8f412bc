/** A question in one form, by whatever name an agent calls its user. */
import { describe, expect, it } from "vitest"
import { nobody, type People, type Person } from "@muniment/language/people/People"
import { askedQuestion } from "@muniment/language/question/AskedQuestion"

const person = (name: string, relation?: string, of?: string): Person => ({
  name,
  aliases: name === "Lena" ? ["Len", "Lena Brandt"] : [],
  relations: relation === undefined ? [] : [{ relation, of }]
})
const chat: People = {
  user: person("Lena"),
  others: [person("Ada", "sister"), person("Tom", "brother"), person("Ben", "brother"), person("Ida", "aunt", "Tom")],
  isGroup: false,
  isChat: true
}
const asked = (question: string, people = chat) => askedQuestion(question, people).text

describe("a question about the user", () => {
  it.each([
    "Where do I work?",
    "Where does Lena work?",
    "Where does the user work?",
    "Where does she work?",
    "Where does Len work?",
    "Where does Lena Brandt work?"
  ])("is one and the same: %j", (question) => {
    expect(asked(question)).toBe("Where do I work?")
  })

  it.each([
    ["Is the user a vegetarian?", "Am I a vegetarian?"],
    ["What is her job now, and where?", "What is my job now, and where?"],
    ["Has she told Lena's boss?", "Have I told my boss?"],
    ["What phone number should we reach Lena on?", "What phone number should we reach me on?"],
    ["How long had Lena been away when she came back?", "How long had I been away when I came back?"],
    ["Who gave it to her?", "Who gave it to me?"],
    ["where does lena work", "where do I work"]
  ])("%j reads %j", (question, form) => {
    expect(asked(question)).toBe(form)
  })

  it.each(["What did Marek say when he called?", "Does my sister like her job?", "Who lost his keys?"])(
    "is not %j, whose pronoun is another's",
    (question) => {
      expect(asked(question).replace("sister Ada", "sister")).toBe(question)
    }
  )

  it("names the user as facts do", () => {
    expect(askedQuestion("Where does Lena work?", chat).about).toEqual(
      new Set(["user", "the user", "lena", "len", "lena brandt"])
    )
    expect(askedQuestion("Where does Ada work?", { ...chat, others: [] }).about).toBeUndefined()
  })

  it("is not read among several who speak, nor where nobody speaks", () => {
    const group: People = { ...chat, user: undefined, isGroup: true }
    expect(asked("Where does Lena work?", group)).toBe("Where does Lena work?")
    expect(asked("Where does she work?", group)).toBe("Where does she work?")
    expect(asked("Where does she work?", nobody)).toBe("Where does she work?")
    expect(asked("Where does the user work?", nobody)).toBe("Where do I work?")
  })
})

describe("a question about another", () => {
  it.each([
    "Where does Ada live?",
    "Where does my sister live?",
    "Where does Lena's sister Ada live?",
    "Where does the user's sister live?"
  ])("is one and the same: %j", (question) => {
    const { sames, text } = askedQuestion(question, chat)
    expect(text).toBe("Where does my sister Ada live?")
    expect(sames).toEqual([new Set(["sister", "ada"])])
  })

  it("stays as it is where several have the relation, and finds that of another", () => {
    expect(asked("Where does my brother live?")).toBe("Where does my brother live?")
    expect(asked("Where does Tom's aunt live?")).toBe("Where does Tom's aunt Ida live?")
  })
})

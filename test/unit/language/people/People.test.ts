/** Who is who, from what messages and facts tell. */
import { describe, expect, it } from "vitest"
import { namingsOf } from "@muniment/engine/text/MemoryText"
import { peopleOf } from "@muniment/language/people/People"

const user = (text: string, name?: string) => ({
  kind: "conversation_message",
  data: { role: "user", text, ...(name !== undefined && { name }) }
})
const assistant = (text: string) => ({ kind: "conversation_message", data: { role: "assistant", text } })
const fact = (subject: string, text: string) => ({ kind: "factual_memory", data: { subject, fact: text } })

const read = (...memories: ReadonlyArray<ReturnType<typeof user> | ReturnType<typeof fact>>) => {
  const told = memories.flatMap((memory, at) => {
    const namings = namingsOf(memory)
    return namings.map((naming) => ({ ...naming, at, seq: at }))
  })
  const speaking = memories.flatMap(({ data }) =>
    "role" in data && data.role === "user" ? [String("name" in data ? data.name : "user")] : []
  )
  return peopleOf(told, [...new Set(speaking)])
}

describe("the user's name", () => {
  it.each([
    "Hi, I'm Lena, a nurse in Bergen",
    "I\u2019m Lena.",
    "my name is Lena and I need help",
    "Hello there. This is Lena, calling about my order",
    "Lena here, quick question",
    "Account 4471. Name Lena",
    "salut. Lena, 44, taxi driver in Lyon"
  ])("is told by %j", (text) => {
    expect(read(user(text)).user?.name).toBe("Lena")
  })

  it.each(["Nice to meet you, Lena! What can I do?", "Good morning, Lena.", "Congratulations, Lena!"])(
    "is known by an assistant that says %j",
    (text) => {
      expect(read(user("hello"), assistant(text)).user?.name).toBe("Lena")
    }
  )

  it.each([
    "I'm German and I live in Oslo",
    "I'm Sorry, wrong chat",
    'she wrote: "my name is Rohana binti Osman, please call back"',
    "call me Monday",
    "I'm in Berlin",
    "this is Paris in spring, what a city"
  ])("is not told by %j", (text) => {
    expect(read(user(text)).user).toBeUndefined()
  })

  it("is not that of a city after a thanks of an assistant", () => {
    expect(read(user("hi"), assistant("Thanks. The museum is in Lisbon, Portugal!")).user).toBeUndefined()
  })

  it("has aliases, of which the first told name comes first", () => {
    const { user: known } = read(
      user("I'm Lena."),
      user("my friends call me Len"),
      user("My full name is Lena Brandt.")
    )
    expect(known).toMatchObject({ name: "Lena", aliases: ["Len", "Lena Brandt"] })
  })

  it("is not taken over by another one who introduces themselves later", () => {
    expect(read(user("I'm Lena."), user("Hi, I'm Piet, her brother")).user?.name).toBe("Lena")
  })

  it("is that of the one speaker, and nobody's in a group", () => {
    expect(read(user("hello", "Lena"), assistant("hi")).user?.name).toBe("Lena")
    const group = read(user("hello", "Lena"), user("my sister Ada is here", "Piet"))
    expect(group.user).toBeUndefined()
    expect(group.others).toMatchObject([
      { name: "Lena" },
      { name: "Piet" },
      { name: "Ada", relations: [{ relation: "sister", of: "Piet" }] }
    ])
  })

  it("is told by an extracted fact", () => {
    expect(read(fact("Lena", "The user's name is Lena")).user?.name).toBe("Lena")
  })
})

describe("others", () => {
  it.each([
    user("my sister Ada lives in Rome"),
    user("My little sister, Ada, lives in Rome"),
    user("my sister's name is Ada."),
    user("Ada is my sister"),
    user("I have a sister called Ada"),
    fact("user", "The user's sister is called Ada")
  ])("are known by what they are to the user: %j", (memory) => {
    expect(read(memory).others).toMatchObject([{ name: "Ada", relations: [{ relation: "sister", of: undefined }] }])
  })

  it("keep their owner, who may be the user by name", () => {
    const { others } = read(
      user("I'm Lena."),
      fact("Lena", "Lena's sister is called Ada"),
      user("Tom's brother Ben called")
    )
    expect(others).toEqual([
      { name: "Ada", aliases: [], relations: [{ relation: "sister", of: undefined }] },
      { name: "Ben", aliases: [], relations: [{ relation: "brother", of: "Tom" }] }
    ])
  })
})

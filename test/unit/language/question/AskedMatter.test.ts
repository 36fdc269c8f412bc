/** A correction of one fact of a message leaves the others as they are (contract: Search, `newerFirst`). */
import { describe, expect, it } from "vitest"
import { mayChange } from "@muniment/language/question/AskedMatter"

const home = "I live in Lisbon with my dog Bruno, rent is 900."
const moved = "Actually I moved to Porto last week, and the rent is 1,050 now."
const job = "My manager is Helena, my salary is 3,400 and my desk is on the second floor."
const left = "Helena left, so I report to Marcus now."
const party = "Our wedding is on 8 June at Harlow Farm, Priya does the flowers and the band costs 1,200."
const cancelled = "The farm cancelled on us, so we booked the Old Mill instead."
const club = "My book club meets at Joan's house on the first Thursday of the month and we are reading Middlemarch."
const later = "Book club moved to the first Wednesday."
const dose = "I take 50 mg of sertraline in the morning, my doctor is Vance and I'm allergic to penicillin."
const more = "Vance put me up to 75 mg on Tuesday."

describe("mayChange", () => {
  it.each([
    ["Where do I live?", home, moved],
    ["How much is my rent?", home, moved],
    ["Who is my manager?", job, left],
    ["What is my manager called?", "My manager is called Stephanie.", "Stephanie left and Rajiv took over."],
    ["Where is our wedding?", party, cancelled],
    ["When does my book club meet?", club, later],
    ["How much sertraline do I take?", dose, more],
    ["What is our band called?", "Our band is called The Owls.", "The band is The Larks as of today."],
    ["What is the price of the class?", "The class costs 12 euros.", "They put the price up to 15 euros."],
    ["Where do I work?", "I work at the mill, it is noisy.", "The bookshop hired me! I start on the first."]
  ])("%s: of the matter", (question, older, newer) => {
    expect(mayChange(question, older, newer)).toBe(true)
  })

  it.each([
    ["What is my dog called?", home, moved],
    ["What is my dog called?", "The user's dog is called Bruno", moved],
    ["How much is my salary?", job, left],
    ["Where is my desk?", job, left],
    ["Who does the flowers?", party, cancelled],
    ["How much does the band cost?", party, cancelled],
    ["Where does my book club meet?", club, later],
    ["What is my book club reading?", club, later],
    ["What am I allergic to?", dose, "Vance has no time for me any more."],
    ["What is my horse called?", "My horse is called Juniper.", "I've moved Juniper to a yard in Welby."]
  ])("%s: of another one", (question, older, newer) => {
    expect(mayChange(question, older, newer)).toBe(false)
  })
})

/** Whose event it is and on which day, counted from Wednesday, 4 March 2026: what is not certain is not told. */
import { describe, expect, it } from "@effect/vitest"
import { briefs } from "./reading.ts"

/** The messages of a chat, and what is remembered of them. */
type Chat = readonly [messages: ReadonlyArray<string>, expected: ReadonlyArray<string>]

const table = (chats: ReadonlyArray<Chat>): void => {
  for (const [messages, expected] of chats)
    it(messages.join(" / "), () => expect(briefs(...messages)).toStrictEqual(expected))
}

describe("what was signed up for lies ahead", () => {
  table([
    [["Signed up for the half marathon on 12 April."], ["user @ 2026-04-12: The user signed up for the half marathon"]],
    [["I signed up for a pottery class on 3 October."], ["user @ 2026-10-03: The user signed up for a pottery class"]],
    [
      ["We registered for the swimming course on 14 September."],
      ["user @ 2026-09-14: The user registered for the swimming course"]
    ],
    [
      ["I've enrolled in a first aid course on 9 May."],
      ["user @ 2026-05-09: The user has enrolled in a first aid course"]
    ],
    [
      ["Got an appointment with the orthodontist on 30 November."],
      ["user @ 2026-11-30: The user got an appointment with the orthodontist"]
    ],
    [
      ["I signed up to volunteer at the food bank on 28 March."],
      ["user @ 2026-03-28: The user signed up to volunteer at the food bank"]
    ],
    [
      ["My sister signed up for a triathlon on 6 June."],
      ["user's sister @ 2026-06-06: The user's sister signed up for a triathlon"]
    ],
    [["On 12 April I signed up for the choir."], ["user @ 2026-04-12: The user signed up for the choir"]],
    // The day may be that of signing.
    [["I registered for the exam on 2 February."], []],
    [["I have signed up for the beginners' workshop on Friday."], []],
    // Tense and day disagree.
    [["I visited Lisbon on 5 April."], []],
    [["My exam was on 15 June."], []],
    // What did happen.
    [["I signed up for a webinar last Tuesday."], ["user @ 2026-03-03: The user signed up for a webinar"]],
    [["Yesterday I signed up for a gym."], ["user @ 2026-03-03: The user signed up for a gym"]],
    [["Two days ago I signed up for a cooking class."], ["user @ 2026-03-02: The user signed up for a cooking class"]],
    [["I visited Prague on 20 November."], ["user @ 2025-11-20: The user visited Prague"]]
  ])
})

describe("a day counted from another event", () => {
  table([
    [
      ["My sister's wedding is on 14 June. A week later, the 21st, we fly to Crete."],
      ["user's sister @ 2026-06-14: The user's sister's wedding"]
    ],
    [
      ["The surgery is on 10 April.", "Two weeks later I have a check-up on the 24th."],
      ["user @ 2026-04-10: The surgery"]
    ],
    [
      ["The surgery is on 10 April.", "Two weeks later I have a check-up on the 27th."],
      ["user @ 2026-04-10: The surgery"]
    ],
    [["My exam is on 12 May.", "A month later we go to Spain."], ["user @ 2026-05-12: The user's exam"]],
    [["A week after the wedding we fly to Bali."], []],
    [["I had a check-up in Leeds a week later, the 9th."], []],
    [["I have a scan the following Tuesday."], []],
    [["We have a party the Saturday before Easter."], []],
    [["The week before the move I have a meeting in Hull."], []],
    [["Two weeks from today I have a scan."], ["user @ 2026-03-18: The user has a scan"]],
    [["I have a scan in two weeks."], ["user @ 2026-03-18: The user has a scan"]],
    [["I have a dentist appointment a week from Friday."], ["user @ 2026-03-13: The user has a dentist appointment"]],
    [["The day after tomorrow I have an exam."], ["user @ 2026-03-06: The user has an exam"]]
  ])
})

describe("children are the speaker's only if the speaker has some", () => {
  table([
    [["The children's ward opens on 3 May."], []],
    [["The children's favourite book is The Gruffalo."], []],
    [["The kids are allergic to nuts."], []],
    [["The kids have a concert on 12 May."], []],
    [["I teach year 3.", "The children have a trip to the museum on 20 March."], ["user: The user teaches year 3"]],
    [["Anna has two kids.", "The kids start school on 1 September."], ["Anna: Anna has two kids"]],
    [["The twins' party is on Sunday."], []],
    [["The baby's christening is on 5 April."], []],
    [["The baby is due on 3 July."], ["user @ 2026-07-03: The baby is due"]],
    [["Our children's party is on 20 March."], ["user's children @ 2026-03-20: The user's children's party"]],
    [
      ["I have two kids.", "The kids have a concert on 12 May."],
      ["user: The user has two kids", "user's kids @ 2026-05-12: The user's kids have a concert"]
    ],
    [["The dog has a vet appointment on Friday."], ["user's dog @ 2026-03-06: The user's dog has a vet appointment"]]
  ])
})

describe("another party's event is not the speaker's", () => {
  table([
    [["The company is moving to Leeds on 1 June."], []],
    [["The council starts the roadworks on 9 March."], []],
    [["The school has a trip to York on 20 March."], []],
    [["The garage where I work opens on 1 April."], []],
    [["The woman I met has an interview on Monday."], []],
    [["The band I like plays in Leeds on 3 May."], []],
    [["The airline opens a lounge on 3 April."], []],
    [["The new shop opens on 5 May."], []],
    [["The instructor has an exam on 20 April."], []],
    [["The kids next door start school on 7 September."], []],
    [["They have a meeting on 12 March."], []],
    [["The meeting is on 12 March."], ["user @ 2026-03-12: The meeting"]],
    [
      ["My company opens an office in Porto on 4 May."],
      ["user @ 2026-05-04: The user's company opens an office in Porto"]
    ],
    [["The other day I signed up for a gym."], []],
    [["Our landlord is coming on Friday."], ["user's landlord @ 2026-03-06: The user's landlord is coming"]]
  ])
})

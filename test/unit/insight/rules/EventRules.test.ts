/** Plans and happenings, counted from Wednesday, 4 March 2026. */
import { describe, expect, it } from "@effect/vitest"
import { briefs, type Row } from "./reading.ts"

const rows: ReadonlyArray<Row> = [
  ["I need a hotel in Kyoto from 2 May to 6 May for two adults.", []],
  [
    "The company offsite is from 7 to 9 July in Malmö, with the whole design team.",
    ["user @ 2026-07-07 to 2026-07-09: The company offsite is in Malmö, with the whole design team"]
  ],
  [
    "Put this down: budget review with Carla and Stefan on 14 May at 15:30 in room 4B",
    ["user @ 2026-05-14T15:30:00Z: Budget review with Carla and Stefan in room 4B"]
  ],
  [
    "My brother Anton arrives on Sunday to help with the shelves.",
    ["user: The user's brother is called Anton", "Anton @ 2026-03-08: Anton arrives to help with the shelves"]
  ],
  ["I'm planning a trip to Japan next spring.", []],
  [
    "I have a dentist appointment tomorrow at 3pm.",
    ["user @ 2026-03-05T15:00:00Z: The user has a dentist appointment"]
  ],
  [
    "I'm meeting Sarah for lunch next Tuesday at Nobu.",
    ["user @ 2026-03-10: The user is meeting Sarah for lunch at Nobu"]
  ],
  ["My flight to Boston leaves on March 20th.", ["user @ 2026-03-20: The user's flight to Boston leaves"]],
  ["I'm training for a marathon in October.", ["user @ no date: The user is training for a marathon in October 2026"]],
  ["I'm expecting my first baby in July.", ["user: The user is expecting the user's first baby in July 2026"]],
  ["I think I'm going to switch to Linux.", []],
  [
    "My sister Emma, who lives in Toronto, is visiting me next weekend.",
    [
      "user: The user's sister is called Emma",
      "Emma: Emma lives in Toronto",
      "Emma @ 2026-03-14 to 2026-03-15: Emma is visiting the user"
    ]
  ],
  ["We went to Paris last summer.", []],
  [
    "I visited my grandmother in Leeds on Sunday.",
    ["user @ 2026-03-01: The user visited the user's grandmother in Leeds"]
  ],
  ["I need to finish my thesis by June 15.", ["user @ 2026-06-15: The user needs to finish the user's thesis"]],
  [
    "I'm going to a concert with my brother on April 3rd at Wembley.",
    ["user @ 2026-04-03: The user is going to a concert with the user's brother at Wembley"]
  ],
  [
    "We're getting married on August 8th 2026 in Tuscany.",
    ["user @ 2026-08-08: The user is getting married in Tuscany"]
  ],
  ["My wedding is on 8 August.", ["user @ 2026-08-08: The user's wedding"]],
  [
    "My son Max starts kindergarten next month.",
    ["user: The user's son is called Max", "Max @ no date: Max starts kindergarten in April 2026"]
  ],
  [
    "My manager, Julia, is leaving in May.",
    ["user: The user's manager is called Julia", "Julia @ no date: Julia is leaving in May 2026"]
  ],
  ["I have a meeting with Priya tomorrow at 10am.", ["user @ 2026-03-05T10:00:00Z: The user has a meeting with Priya"]],
  ["I ran the Berlin marathon in 2023.", ["user @ no date: The user ran the Berlin marathon in 2023"]],
  ["I had surgery on February 2.", ["user @ 2026-02-02: The user had surgery"]],
  [
    "My daughter Lily turns 6 on April 12.",
    ["user: The user's daughter is called Lily", "Lily @ 2026-04-12: Lily turns 6"]
  ],
  [
    "I've got a job interview at Meta next Monday at 10am.",
    ["user @ 2026-03-09T10:00:00Z: The user has got a job interview at Meta"]
  ],
  ["I'm flying to Tokyo on May 3rd and coming back on May 17th.", ["user @ 2026-05-03: The user is flying to Tokyo"]],
  [
    "My parents are visiting from Friday to Sunday.",
    ["user's parents @ 2026-03-06 to 2026-03-08: The user's parents are visiting"]
  ],
  [
    "I'm hoping to run a half marathon this year.",
    ["user @ no date: The user is hoping to run a half marathon in 2026"]
  ],
  ["I plan to apply to grad school in the fall.", []],
  ["I decided to go vegan.", []],
  ["The wedding is on October 10.", ["user @ 2026-10-10: The wedding"]],
  ["There's a parent-teacher conference on Thursday.", ["user @ 2026-03-05: A parent-teacher conference"]],
  ["Dinner with Tom on Friday at 7.", ["user @ 2026-03-06: Dinner with Tom"]],
  ["Doctor's appointment on 12 March.", ["user @ 2026-03-12: Doctor's appointment"]],
  ["I went to the dentist yesterday.", ["user @ 2026-03-03: The user went to the dentist"]],
  ["The cast comes off on 15 December.", ["user @ 2026-12-15: The cast comes off"]],
  ["My lease ends on 30 June.", ["user @ 2026-06-30: The user's lease ends"]],
  ["My passport expires on 1 May 2027.", ["user @ 2027-05-01: The user's passport expires"]],
  ["The party is a week on Saturday.", ["user @ 2026-03-14: The party"]],
  ["I visited Rome on March 1st.", ["user @ 2026-03-01: The user visited Rome"]],
  ["I have a dentist appointment on 04/05/2026.", ["user @ no date: The user has a dentist appointment on 04/05/2026"]],
  ["I'm flying to Oslo next month.", ["user @ no date: The user is flying to Oslo in April 2026"]]
]

describe("sentences about events", () => {
  for (const [sentence, expected] of rows) {
    it(`are read: ${sentence}`, () => expect(briefs(sentence)).toEqual(expected))
  }
})

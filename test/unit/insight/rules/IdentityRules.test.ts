/** Who somebody is, in sentences that people write. */
import { describe, expect, it } from "@effect/vitest"
import { briefs, type Row } from "./reading.ts"

const rows: ReadonlyArray<Row> = [
  [
    "Grace Okafor here. I'm a retired midwife, 72 years young",
    [
      "Grace Okafor: The user's name is Grace Okafor",
      "Grace Okafor: Grace Okafor is a retired midwife",
      "Grace Okafor: Grace Okafor is 72 years young"
    ]
  ],
  ["I just turned 30 last week.", ["user: The user turned 30 in the week of 2026-02-23"]],
  ["I was born in 1985 in Cape Town.", ["user: The user was born in 1985 in Cape Town"]],
  [
    "I used to live in Paris but now I live in Rome.",
    ["user: The user used to live in Paris", "user: The user lives in Rome"]
  ],
  ["I no longer work at Google.", ["user: The user no longer works at Google"]],
  ["I quit my job at Amazon last Friday.", ["user: The user quit the user's job at Amazon on 2026-02-27"]],
  ["I speak Spanish, French and a little German.", ["user: The user speaks Spanish, French and a little German"]],
  ["I run every morning before work.", ["user: The user runs every morning before work"]],
  ["I graduated from MIT in 2015.", ["user @ no date: The user graduated from MIT in 2015"]],
  ["I study computer science at ETH Zurich.", ["user: The user studies computer science at ETH Zurich"]],
  [
    "I'm a software engineer at Spotify, based in Stockholm.",
    ["user: The user is a software engineer at Spotify", "user: The user is based in Stockholm"]
  ],
  ["I'm not married.", ["user: The user is not married"]],
  [
    "My email is bob@example.com and my phone number is 555-123-4567.",
    ["user: The user's email is bob@example.com", "user: The user's phone number is 555-123-4567"]
  ],
  ["I moved here from Chicago two years ago.", []],
  ["I work from home on Fridays.", ["user: The user works from home on Fridays"]],
  ["Please call me Al.", ["Al: The user's name is Al"]],
  ["I go by Sam, my pronouns are she/her.", ["Sam: The user's name is Sam", "Sam: Sam's pronouns are she/her"]],
  ["Mateo is my name.", ["Mateo: The user's name is Mateo"]],
  ["Just moved to Berlin!", ["user: The user moved to Berlin"]],
  ["I've been working at Stripe for three years.", ["user: The user has been working at Stripe for three years"]],
  [
    "I'm originally from Brazil but I live in Lisbon now.",
    ["user: The user is from Brazil", "user: The user lives in Lisbon"]
  ],
  ["I work in marketing.", ["user: The user works in marketing"]],
  ["I work night shifts at a hospital in Leeds.", ["user: The user works night shifts at a hospital in Leeds"]],
  ["I teach maths at a secondary school.", ["user: The user teaches maths at a secondary school"]],
  ["I live with two roommates.", ["user: The user lives with two roommates"]],
  ["I live alone.", ["user: The user lives alone"]],
  ["I do not work on Sundays.", ["user: The user does not work on Sundays"]],
  [
    "I'm Alex, a 34-year-old product manager at Shopify in Toronto.",
    ["Alex: The user's name is Alex", "Alex: Alex is a 34-year-old product manager at Shopify in Toronto"]
  ],
  [
    "I grew up in Texas but moved to New York in 2015.",
    ["user: The user grew up in Texas", "user: The user moved to New York in 2015"]
  ],
  [
    "Last month I started a new job at Netflix as a data scientist.",
    ["user: The user started a new job at Netflix as a data scientist in February 2026"]
  ],
  ["My mother-in-law lives with us.", ["user's mother-in-law: The user's mother-in-law lives with the user"]],
  ["My phone number is +1 415 555 0199.", ["user: The user's phone number is +1 415 555 0199"]],
  ["My address is 12 Main Street, Springfield.", ["user: The user's address is 12 Main Street, Springfield"]],
  [
    "I'm a teacher. I teach chemistry. I've been doing that for 12 years.",
    ["user: The user is a teacher", "user: The user teaches chemistry"]
  ],
  ["We use Slack at work.", ["user: The user uses Slack at work"]],
  ["I'm self-employed.", ["user: The user is self-employed"]],
  ["I'm currently unemployed.", ["user: The user is unemployed"]],
  ["I retired in 2021.", ["user: The user retired in 2021"]],
  ["My name's Zoë and I'm from Kraków, Poland.", ["Zoë: The user's name is Zoë", "Zoë: Zoë is from Kraków, Poland"]],
  ["Hi there! This is Omar.", ["Omar: The user's name is Omar"]],
  ["People call me Lizzie.", ["Lizzie: The user's name is Lizzie"]],
  ["Actually my name is Jon, not John.", ["Jon: The user's name is Jon"]],
  ["My last name is O'Brien.", ["user: The user's last name is O'Brien"]],
  ["I'm Dr. Patel.", ["Dr. Patel: The user's name is Dr. Patel"]]
]

describe("sentences about identity", () => {
  for (const [sentence, expected] of rows) {
    it(`are read: ${sentence}`, () => expect(briefs(sentence)).toEqual(expected))
  }
})

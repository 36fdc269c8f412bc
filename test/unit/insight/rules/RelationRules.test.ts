/** Who belongs to whom, and what is said of them. */
import { describe, expect, it } from "@effect/vitest"
import { briefs, type Row } from "./reading.ts"

const rows: ReadonlyArray<Row> = [
  [
    "Hi, I'm Maria and I'm a nurse from Lisbon. I have two cats, Miso and Tofu.",
    [
      "Maria: The user's name is Maria",
      "Maria: Maria is a nurse from Lisbon",
      "Maria: Maria's cat is called Miso",
      "Maria: Maria's cat is called Tofu",
      "Maria: Maria has two cats, Miso and Tofu"
    ]
  ],
  [
    "My wife and I have two kids, Tom and Lucy.",
    [
      "user: The user's kid is called Tom",
      "user: The user's kid is called Lucy",
      "user: The user has two kids, Tom and Lucy"
    ]
  ],
  [
    "My husband works at Siemens as an engineer.",
    ["user's husband: The user's husband works at Siemens as an engineer"]
  ],
  ["I play the guitar in a band called The Owls.", ["user: The user plays the guitar in a band called The Owls"]],
  ["My boss Tom is from Ireland.", ["user: The user's boss is called Tom", "Tom: Tom is from Ireland"]],
  [
    "My best friend's name is Kara. She lives in Oslo and works for Equinor.",
    ["user: The user's best friend is called Kara", "Kara: Kara lives in Oslo", "Kara: Kara works for Equinor"]
  ],
  [
    "My son Leo is 5 and loves dinosaurs.",
    ["user: The user's son is called Leo", "Leo: Leo is 5", "Leo likes: dinosaurs"]
  ],
  ["My mom's birthday is on June 5th.", ["user's mom: The user's mom's birthday is on June 5th"]],
  ["My parents live in Ohio.", ["user's parents: The user's parents live in Ohio"]],
  [
    "We have a golden retriever named Max.",
    ["user: The user's retriever is called Max", "user: The user has a golden retriever named Max"]
  ],
  ["My dad passed away in 2020.", ["user's dad: The user's dad passed away in 2020"]],
  ["My sister is pregnant.", ["user's sister: The user's sister is pregnant"]],
  ["Anna is my sister. She is a doctor.", ["user: The user's sister is called Anna", "Anna: Anna is a doctor"]],
  ["My cat Luna is sick.", ["user: The user's cat is called Luna"]],
  [
    "We adopted a puppy called Coco on Saturday.",
    ["user: The user's puppy is called Coco", "user: The user adopted a puppy called Coco on 2026-02-28"]
  ],
  [
    "I love playing tennis with my daughter Mia.",
    ["user: The user's daughter is called Mia", "user likes: playing tennis with the user's daughter Mia"]
  ],
  ["Julia is my manager. She loves sailing.", ["user: The user's manager is called Julia", "Julia likes: sailing"]],
  ["My grandmother was born in Poland.", ["user's grandmother: The user's grandmother was born in Poland"]],
  ["My husband is from Peru.", ["user's husband: The user's husband is from Peru"]],
  [
    "I have a twin sister named Eva.",
    ["user: The user's twin sister is called Eva", "user: The user has a twin sister named Eva"]
  ],
  ["The dog is called Rex.", ["user: The user's dog is called Rex"]],
  [
    "Hello, my name is John Smith, I'm 28 and I live in Manchester with my girlfriend Sophie.",
    [
      "John Smith: The user's name is John Smith",
      "John Smith: John Smith is 28",
      "John Smith: John Smith's girlfriend is called Sophie",
      "John Smith: John Smith lives in Manchester with John Smith's girlfriend Sophie"
    ]
  ],
  [
    "My wife is a lawyer and my son is in college.",
    ["user's wife: The user's wife is a lawyer", "user's son: The user's son is in college"]
  ],
  [
    "My dog Bella is a beagle and she's 3 years old.",
    ["user: The user's dog is called Bella", "Bella: Bella is a beagle", "Bella: Bella is 3 years old"]
  ],
  ["My cousin works as a paramedic in Glasgow.", ["user's cousin: The user's cousin works as a paramedic in Glasgow"]],
  ["My roommate is allergic to dogs.", ["user's roommate: The user's roommate is allergic to dogs"]],
  ["I met my wife in college.", ["user: The user met the user's wife in college"]]
]

describe("sentences about relations", () => {
  for (const [sentence, expected] of rows) {
    it(`are read: ${sentence}`, () => expect(briefs(sentence)).toEqual(expected))
  }
})

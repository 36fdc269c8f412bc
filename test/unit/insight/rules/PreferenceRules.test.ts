/** Likes, dislikes, wishes and what is avoided. */
import { describe, expect, it } from "@effect/vitest"
import { briefs, type Row } from "./reading.ts"

const rows: ReadonlyArray<Row> = [
  ["I can't stand loud music.", ["user dislikes: loud music"]],
  ["I prefer tea over coffee.", ["user prefers: tea over coffee"]],
  ["I would rather walk than drive.", ["user prefers: walk rather than drive"]],
  ["I'd love to visit Iceland someday.", []],
  ["I hate it when people are late.", []],
  ["My favorite movie is Blade Runner.", ["user likes: Blade Runner"]],
  ["I don't eat meat.", ["user: The user does not eat meat"]],
  ["I never drink alcohol.", ["user: The user never drinks alcohol"]],
  ["Remember that I hate cilantro.", ["user dislikes: cilantro"]],
  ["I'm saving up for a house.", ["user: The user is saving up for a house"]],
  ["I'm really into hiking and photography these days.", ["user likes: hiking", "user likes: photography"]],
  [
    "I enjoy cooking Italian food and playing chess.",
    ["user likes: cooking Italian food", "user likes: playing chess"]
  ],
  ["I hate Mondays.", ["user dislikes: Mondays"]],
  ["I don't really like horror movies.", ["user dislikes: horror movies"]],
  ["I want to become a pilot.", []],
  ["I'm a big fan of Radiohead.", ["user likes: Radiohead"]],
  ["I'm not a fan of spicy food.", ["user dislikes: spicy food"]],
  ["My favorite color is blue and my favorite food is ramen.", ["user likes: blue", "user likes: ramen"]],
  ["I like Italian and Thai food.", ["user likes: Italian and Thai food"]],
  ["I prefer to work at night.", ["user prefers: work at night"]],
  ["I prefer dark mode.", ["user prefers: dark mode"]],
  ["I avoid caffeine after noon.", ["user: The user avoids caffeine after noon"]],
  [
    "I really dislike flying, so I usually take the train.",
    ["user dislikes: flying", "user: The user takes the train"]
  ],
  ["I absolutely love sci-fi, especially Dune.", ["user likes: sci-fi", "user likes: Dune"]],
  ["I'm not really into sports.", ["user dislikes: sports"]],
  ["I can't eat gluten.", ["user: The user can not eat gluten"]],
  ["I try to avoid sugar.", []],
  ["I prefer reading paper books rather than e-books.", ["user prefers: reading paper books rather than e-books"]],
  ["I like my coffee black.", ["user likes: the user's coffee black"]],
  ["I want to learn how to sail.", []],
  ["I hope to retire at 55.", []],
  ["I gave up smoking two years ago.", ["user: The user gave up smoking in 2024"]],
  ["I'm interested in astronomy.", ["user likes: astronomy"]]
]

describe("sentences about preferences", () => {
  for (const [sentence, expected] of rows) {
    it(`are read: ${sentence}`, () => expect(briefs(sentence)).toEqual(expected))
  }
})

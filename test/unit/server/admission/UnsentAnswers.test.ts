/** Answers that their callers have not taken. */
import { expect, it } from "vitest"
import { Limits } from "@muniment/domain/Limits"
import { UnsentAnswers } from "@muniment/server/admission/UnsentAnswers"

const open =
  (unsent: UnsentAnswers, cutOff: Array<string>) =>
  (name: string, account: string, bytes: number, at = 0) =>
    unsent.add(name, { account, bytes, sinceMillis: at, cut: () => cutOff.push(name) })

it("are bounded for an account, until it has taken some", () => {
  const unsent = new UnsentAnswers()
  const add = open(unsent, [])
  add("first", "a", Limits.accountAnswersBytesMax)
  expect(unsent.isFull("a")).toBe(false)
  add("second", "a", 1)
  expect([unsent.isFull("a"), unsent.isFull("b")]).toEqual([true, false])
  unsent.taken("first")
  unsent.taken("first")
  expect([unsent.isFull("a"), unsent.bytes]).toEqual([false, 1])
})

it("are bounded in all: the oldest are cut off, never the newest", () => {
  const unsent = new UnsentAnswers()
  const cutOff: Array<string> = []
  const add = open(unsent, cutOff)
  add("first", "a", Limits.answersBytesMax / 2)
  add("second", "b", Limits.answersBytesMax / 2)
  expect(cutOff).toEqual([])
  add("third", "c", 1)
  expect(cutOff).toEqual(["first"])
  add("huge", "d", Limits.answersBytesMax * 2)
  expect([cutOff, unsent.bytes, unsent.cuts]).toEqual([["first", "second", "third"], Limits.answersBytesMax * 2, 3])
})

it("are cut off when their time is over", () => {
  const unsent = new UnsentAnswers()
  const cutOff: Array<string> = []
  const add = open(unsent, cutOff)
  add("first", "a", 1, 0)
  add("second", "a", 1, 10)
  unsent.cutOverdue(Limits.answerMillisMax)
  expect(cutOff).toEqual([])
  unsent.cutOverdue(Limits.answerMillisMax + 10)
  expect([cutOff, unsent.bytes]).toEqual([["first"], 1])
})

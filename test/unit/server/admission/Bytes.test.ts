/** Room for bodies. */
import { expect, it } from "vitest"
import { Limits } from "@muniment/domain/Limits"
import { Bytes } from "@muniment/server/admission/Bytes"

const large = Limits.requestBodyBytesMax
const perAccount = Math.floor(Limits.accountBodiesBytesMax / large)
const inAll = Math.floor(Limits.bodiesBytesMax / large)

it("bounds the bodies of an account and of all", () => {
  const bytes = new Bytes()
  for (let count = 0; count < perAccount; count++) expect(bytes.reserve("a", large, 0)).toBeUndefined()
  expect(bytes.reserve("a", large, 0)).toBe("account_bytes")
  for (let count = perAccount; count < inAll; count++) expect(bytes.reserve(`other${count}`, large, 0)).toBeUndefined()
  expect(bytes.reserve("late", large, 0)).toBe("bytes")
  expect(bytes.inFlight).toBe(inAll * large)
  bytes.release("a", large)
  expect(bytes.reserve("late", large, 0)).toBeUndefined()
})

it("keeps room for small bodies", () => {
  const bytes = new Bytes()
  for (let count = 0; count < inAll; count++) bytes.reserve(`account${count}`, large, 0)
  expect(bytes.reserve("small", Limits.smallBodyBytesMax, 0)).toBeUndefined()
  bytes.release("small", Limits.smallBodyBytesMax)
  for (let count = 0; count < inAll; count++) bytes.release(`account${count}`, large)
  expect(bytes.inFlight).toBe(0)
})

it("keeps room for large bodies that were served, until their rest is over", () => {
  const bytes = new Bytes()
  const withRest = Math.floor(Limits.accountBodiesWithRestBytesMax / large)
  for (let count = 0; count < withRest; count++) {
    expect(bytes.reserve("a", large, 0)).toBeUndefined()
    bytes.rest("a", large, 100 + count)
  }
  expect(bytes.inFlight).toBe(0)
  expect(bytes.reserve("a", large, 99)).toBe("account_bytes")
  expect(bytes.reserve("b", large, 99)).toBeUndefined()
  expect(bytes.reserve("b", large, 99)).toBe("bytes")
  expect(bytes.reserve("a", large, 100)).toBeUndefined()
  expect(bytes.reserve("a", large, 100)).toBe("account_bytes")
})

it("lets small bodies rest nowhere", () => {
  const bytes = new Bytes()
  bytes.reserve("a", Limits.smallBodyBytesMax, 0)
  bytes.rest("a", Limits.smallBodyBytesMax, 1_000)
  for (let count = 0; count < perAccount; count++) expect(bytes.reserve("a", large, 0)).toBeUndefined()
})

it("refuses nobody who sends the largest bodies one after the other", () => {
  const bytes = new Bytes()
  let nowMillis = 0
  for (let count = 0; count < 50; count++) {
    expect(bytes.reserve("a", large, nowMillis)).toBeUndefined()
    const workMillis = count % 2 === 0 ? 100 : 60
    nowMillis += workMillis
    bytes.rest("a", large, nowMillis + workMillis)
  }
})

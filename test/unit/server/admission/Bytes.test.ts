/** Room for bodies. */
import { expect, it } from "vitest"
import { Limits } from "@muniment/domain/Limits"
import { Bytes } from "@muniment/server/admission/Bytes"

const large = Limits.requestBodyBytesMax
const perAccount = Math.floor(Limits.accountBodiesBytesMax / large)
const inAll = Math.floor(Limits.bodiesBytesMax / large)

it("bounds the bodies of an account and of all", () => {
  const bytes = new Bytes()
  for (let count = 0; count < perAccount; count++) expect(bytes.reserve("a", large)).toBeUndefined()
  expect(bytes.reserve("a", large)).toBe("account_bytes")
  for (let count = perAccount; count < inAll; count++) expect(bytes.reserve(`other${count}`, large)).toBeUndefined()
  expect(bytes.reserve("late", large)).toBe("bytes")
  expect(bytes.inFlight).toBe(inAll * large)
  bytes.release("a", large)
  expect(bytes.reserve("late", large)).toBeUndefined()
})

it("keeps room for small bodies", () => {
  const bytes = new Bytes()
  for (let count = 0; count < inAll; count++) bytes.reserve(`account${count}`, large)
  expect(bytes.reserve("small", Limits.smallBodyBytesMax)).toBeUndefined()
  bytes.release("small", Limits.smallBodyBytesMax)
  for (let count = 0; count < inAll; count++) bytes.release(`account${count}`, large)
  expect(bytes.inFlight).toBe(0)
})

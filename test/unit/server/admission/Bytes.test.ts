/** Room for bodies. */
import { expect, it } from "vitest"
import { Limits } from "@muniment/domain/Limits"
import { Bytes } from "@muniment/server/admission/Bytes"

const large = Limits.requestBodyBytesMax
const perAccount = Math.floor(Limits.accountBodiesBytesMax / large)
const withRest = Math.floor(Limits.accountBodiesWithRestBytesMax / large)
const inAll = Math.floor(Limits.bodiesBytesMax / large)

/** The first rests until 100 ms, each later one as long again from a millisecond later. */
const serveAsManyAsMayRest = (bytes: Bytes, account: string): void => {
  for (let count = 0; count < withRest; count++) {
    expect(bytes.reserve(account, large, count)).toBeUndefined()
    bytes.rest(account, large, count, 100)
  }
}

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

const small = Limits.smallBodyBytesMax
const smallPerAccount = Math.floor(Limits.accountBodiesBytesMax / small)

/** As many as it takes; what stops it. */
const fillSmall = (bytes: Bytes, account: string): string => {
  for (let count = 0; count <= smallPerAccount; count++) {
    const bound = bytes.reserve(account, small, 0)
    if (bound !== undefined) return bound
  }
  throw new Error("small bodies of an account have no bound")
}

it("lets no account take the room for small bodies", () => {
  const bytes = new Bytes()
  expect(fillSmall(bytes, "a")).toBe("account_bytes")
  expect(bytes.inFlight).toBe(smallPerAccount * small)
  expect(bytes.reserve("a", large, 0)).toBeUndefined()
  expect(bytes.reserve("b", small, 0)).toBeUndefined()
  bytes.release("a", small)
  expect(bytes.reserve("a", small, 0)).toBeUndefined()
})

it("keeps half of the room for small bodies for callers who are known", () => {
  const bytes = new Bytes()
  const strangers = Array.from({ length: 9 }, (_, at) => `address:192.0.2.${at}`)
  const bounds = strangers.map((stranger) => fillSmall(bytes, stranger))
  expect(new Set(bounds)).toEqual(new Set(["account_bytes", "bytes"]))
  expect(bytes.inFlight).toBe(Limits.smallBodiesBytesMax / 2)
  expect(fillSmall(bytes, "known")).toBe("account_bytes")
  bytes.release(strangers[0]!, small)
  expect(bytes.reserve("address:198.51.100.1", small, 0)).toBeUndefined()
  expect(bytes.reserve("address:198.51.100.1", small, 0)).toBe("bytes")
})

it("keeps half of the room for large bodies for callers who are known", () => {
  const bytes = new Bytes()
  const half = inAll / 2
  for (let count = 0; count < half; count++) {
    expect(bytes.reserve(`address:192.0.2.${count}`, large, 0)).toBeUndefined()
  }
  expect(bytes.reserve("address:198.51.100.1", large, 0)).toBe("bytes")
  expect(bytes.reserve("known", large, 0)).toBeUndefined()
  bytes.release("address:192.0.2.0", large)
  expect(bytes.reserve("address:198.51.100.1", large, 0)).toBeUndefined()
})

it("bounds the small bodies of all accounts", () => {
  const bytes = new Bytes()
  const accounts = Math.floor(Limits.smallBodiesBytesMax / Limits.accountBodiesBytesMax)
  for (let count = 0; count < accounts; count++) fillSmall(bytes, `account${count}`)
  expect(bytes.inFlight).toBe(Limits.smallBodiesBytesMax)
  expect(bytes.reserve("late", small, 0)).toBe("bytes")
})

it("keeps room for large bodies that were served, until their rest is over", () => {
  const bytes = new Bytes()
  serveAsManyAsMayRest(bytes, "a")
  expect(bytes.inFlight).toBe(0)
  expect(bytes.reserve("b", large, 99)).toBeUndefined()
  expect(bytes.reserve("b", large, 99)).toBe("bytes")
  expect(bytes.reserve("a", large, 100)).toBeUndefined()
  expect(bytes.reserve("a", large, 100)).toBe("account_bytes")
})

it("lets the bodies of an account that was refused rest longer, but not in others' room", () => {
  const bytes = new Bytes()
  serveAsManyAsMayRest(bytes, "a")
  expect(bytes.reserve("a", large, 99)).toBe("account_bytes")
  const endMillis = Limits.crowdedBodyRestMillis
  expect(bytes.reserve("a", large, endMillis - 1)).toBe("account_bytes")
  for (let count = 0; count < inAll; count++) {
    expect(bytes.reserve(`other${count}`, large, endMillis - 1)).toBeUndefined()
  }
  for (let count = 0; count < inAll; count++) bytes.release(`other${count}`, large)
  expect(bytes.reserve("a", large, endMillis)).toBeUndefined()
  expect(bytes.reserve("a", large, endMillis)).toBe("account_bytes")
})

it("serves a crowd of bodies of one account slowly, however long it lasts", () => {
  const bytes = new Bytes()
  const rounds = 10
  let served = 0
  for (let millis = 0; millis < rounds * Limits.crowdedBodyRestMillis; millis += 50) {
    while (bytes.reserve("a", large, millis) === undefined) {
      bytes.rest("a", large, millis, 50)
      served += 1
    }
  }
  expect(served).toBe(rounds * withRest)
})

it("forgets a refusal after which nothing came for as long as the longer rest", () => {
  const bytes = new Bytes()
  serveAsManyAsMayRest(bytes, "a")
  expect(bytes.reserve("a", large, 99)).toBe("account_bytes")
  const laterMillis = 99 + Limits.crowdedBodyRestMillis
  bytes.reserve("a", large, laterMillis)
  bytes.rest("a", large, laterMillis, 100)
  for (let count = 0; count < 50; count++) {
    const millis = laterMillis + 100 * (count + 1)
    expect(bytes.reserve("a", large, millis)).toBeUndefined()
    bytes.rest("a", large, millis, 100)
  }
})

it("lets small bodies rest nowhere", () => {
  const bytes = new Bytes()
  bytes.reserve("a", Limits.smallBodyBytesMax, 0)
  bytes.rest("a", Limits.smallBodyBytesMax, 0, 1_000)
  for (let count = 0; count < perAccount; count++) expect(bytes.reserve("a", large, 0)).toBeUndefined()
})

it("refuses nobody who sends the largest bodies one after the other", () => {
  const bytes = new Bytes()
  let nowMillis = 0
  for (let count = 0; count < 50; count++) {
    expect(bytes.reserve("a", large, nowMillis)).toBeUndefined()
    const workMillis = count % 2 === 0 ? 100 : 60
    nowMillis += workMillis
    bytes.rest("a", large, nowMillis, workMillis)
  }
})

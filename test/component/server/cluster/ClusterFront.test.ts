/** Where callers reach a node, while the node that serves changes. */
import { createServer, get, type Server } from "node:http"
import { text } from "node:stream/consumers"
import { expect, it } from "@effect/vitest"
import { Effect, Fiber, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { ClusterFront } from "@muniment/server/cluster/ClusterFront"
import { freePort } from "../../../support/TestServer.ts"

const secret = Redacted.make("a secret of these tests, known to all of their nodes")
const host = "127.0.0.1"

const open = Effect.gen(function* () {
  const address = { host, port: yield* Effect.promise(freePort) }
  const links = { host, port: yield* Effect.promise(freePort) }
  const front = yield* ClusterFront.open({ secret, address, links })
  const ask = Effect.callback<string>((answered) => {
    get({ ...address, agent: false }, (response) => {
      void text(response).then((body) => answered(Effect.succeed(`${response.statusCode} ${body.slice(0, 20)}`)))
    })
  })
  return { front, links, ask }
})

const service = (name: string): Server => createServer((_, response) => void response.end(name))
const refusal = expect.stringMatching(/^503/)

/** A connection of this machine has come as far as it can by then. */
const moment = Effect.promise(() => new Promise((resume) => setTimeout(resume, 300)))

it.effect("connections wait while the service moves to another node, whichever node they reach", () =>
  Effect.gen(function* () {
    const [owner, next, third] = yield* Effect.all([open, open, open])
    owner.front.serveHere(service("the owner"))
    for (const { front } of [next, third]) front.follow(owner.links)
    const all = Effect.all([owner.ask, next.ask, third.ask], { concurrency: 3 })
    expect(yield* all).toEqual(Array(3).fill("200 the owner"))

    owner.front.leave()
    const before = yield* Effect.forkChild(all)
    yield* moment
    const look = Effect.sync(() => {
      for (const { front } of [owner, third]) front.follow(next.links)
      next.front.follow(undefined)
    })
    yield* look
    const meanwhile = yield* Effect.forkChild(all)
    yield* moment
    expect([before, meanwhile].map((asked) => asked.pollUnsafe())).toEqual([undefined, undefined])
    next.front.serveHere(service("the next one"))
    // As nodes do: a link that has waited too long is offered again.
    yield* Effect.forkChild(Effect.forever(Effect.andThen(moment, look)))
    for (const asked of [before, meanwhile]) expect(yield* Fiber.join(asked)).toEqual(Array(3).fill("200 the next one"))
  })
)

it.effect("a wait in vain ends, and until a node serves again nobody waits", () =>
  Effect.gen(function* () {
    const { ask, front } = yield* open
    expect(yield* ask).toEqual(refusal)
    for (const name of ["the first", "the second"]) {
      front.serveHere(service(name))
      expect(yield* ask).toBe(`200 ${name}`)
      front.leave()
      const asked = yield* Effect.forkChild(ask)
      yield* moment
      expect(asked.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust("2 seconds")
      expect(yield* Fiber.join(asked)).toEqual(refusal)
      expect(yield* ask).toEqual(refusal)
    }
  })
)

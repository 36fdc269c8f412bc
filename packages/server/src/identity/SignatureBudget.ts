/**
 * Signatures that a client may send in vain: wrong ones, and those of wallets that open no account. Verifying one takes
 * milliseconds of the event loop, so a client that sent `Limits.wrongSignaturesPerMinute` of them waits before another is
 * looked at, and has few looked at at once. A client is
 * an address or network (`ClientAddress`): what a request claims of its wallet is not proven yet. Questions to contract
 * wallets that end with "no" have a budget of their own, `Limits.contractRefusalsPerMinute`: each costs a call of the
 * operator's node.
 */
import { Clock, Context, Effect, Layer, Metric } from "effect"
import { HttpServerRequest } from "effect/http"
import { RateLimited } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import { type ContractBudget, ContractChecks } from "@muniment/trust/ContractWallets"
import { boundMet } from "../boundMet.ts"
import { retryAfter } from "../headers.ts"
import { clientOf, type TrustedProxies } from "./ClientAddress.ts"

export class SignatureBudget extends Context.Service<
  SignatureBudget,
  {
    /** Runs a verification for the client of the request, if it may have one. One that fails was in vain. */
    readonly through: <A, E, R>(
      verification: Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E | RateLimited, R | HttpServerRequest.HttpServerRequest>
    /** Bounds what an authenticated request asks of contract wallets, as its grants do. */
    readonly bounded: <A, E, R>(
      handler: Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E, R | HttpServerRequest.HttpServerRequest>
  }
>()("muniment/server/SignatureBudget") {
  static readonly layer = (trusted: TrustedProxies) => Layer.sync(this, () => make(trusted))
}

const open = Metric.gauge("signatures_open", { description: "Signatures of wallets that are being verified." })

const make = (trusted: TrustedProxies): SignatureBudget["Service"] => {
  const clients = new Map<string, Client>()
  let underWay = 0
  const step = (client: Client, by: 1 | -1) =>
    Effect.suspend(() => {
      client.underWay += by
      underWay += by
      return Metric.update(open, underWay)
    })

  const entryOf = (name: string): Client => {
    const known = clients.get(name) ?? { wrong: 0, refusals: 0, asOfMillis: 0, underWay: 0 }
    // In the order of last use.
    clients.delete(name)
    clients.set(name, known)
    return known
  }

  /** Clients whose wrong signatures are forgotten, the least recently used first. */
  const forget = (nowMillis: number): void => {
    for (const [name, client] of clients) {
      refill(client, nowMillis)
      if (client.wrong > 0 || client.refusals > 0 || client.underWay > 0) return
      clients.delete(name)
    }
  }

  const clientFor = (request: HttpServerRequest.HttpServerRequest) =>
    Effect.map(Clock.currentTimeMillis, (nowMillis) => {
      forget(nowMillis)
      const client = entryOf(clientOf(request, trusted))
      refill(client, nowMillis)
      return client
    })

  return {
    through: <A, E, R>(verification: Effect.Effect<A, E, R>) =>
      Effect.gen(function* () {
        const client = yield* clientFor(yield* HttpServerRequest.HttpServerRequest)
        if (client.wrong >= wrongMax || client.underWay >= Limits.signaturesUnderWayOfClientMax) {
          return yield* refuse("signatures", client.wrong - wrongMax)
        }
        let isUnasked = false
        const asking: ContractBudget = (question) =>
          Effect.suspend(() => {
            isUnasked = client.refusals >= refusalsMax
            return asks(client)(question)
          })
        const verified = verification.pipe(
          Effect.provideService(ContractChecks, asking),
          Effect.catch((failure): Effect.Effect<never, E | RateLimited, HttpServerRequest.HttpServerRequest> => {
            client.wrong += 1
            // Nobody was asked, so the signature may be right.
            return isUnasked ? refuse("contract_wallets", client.refusals - refusalsMax) : Effect.fail(failure)
          })
        )
        return yield* Effect.acquireUseRelease(
          step(client, 1),
          () => verified,
          () => step(client, -1)
        )
      }),
    bounded: (handler) =>
      Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
        Effect.provideService(handler, ContractChecks, (question) =>
          Effect.flatMap(clientFor(request), (client) => asks(client)(question))
        )
      )
  }
}

/** Counted when it is asked, so that many at once stay within the budget; a "yes" is given back. */
const asks =
  (client: Client): ContractBudget =>
  (question) =>
    Effect.suspend(() => {
      if (client.refusals >= refusalsMax) return Effect.succeed(false)
      client.refusals += 1
      return Effect.tap(question, (isYes) => Effect.sync(() => (client.refusals -= isYes ? 1 : 0)))
    })

interface Client {
  /** Numbers that fall with time: signatures in vain, and contracts that refused or are being asked. */
  wrong: number
  refusals: number
  asOfMillis: number
  underWay: number
}

const wrongMax = Limits.wrongSignaturesPerMinute
const wrongForgottenPerMilli = wrongMax / 60_000
const refusalsMax = Limits.contractRefusalsPerMinute
const refusalsForgottenPerMilli = refusalsMax / 60_000

const refill = (client: Client, nowMillis: number): void => {
  const millis = Math.max(0, nowMillis - client.asOfMillis)
  client.wrong = Math.max(0, client.wrong - millis * wrongForgottenPerMilli)
  client.refusals = Math.max(0, client.refusals - millis * refusalsForgottenPerMilli)
  client.asOfMillis = nowMillis
}

const budgets = {
  signatures: {
    forgottenPerMilli: wrongForgottenPerMilli,
    allowed: `${wrongMax} signatures in vain a minute, ${Limits.signaturesUnderWayOfClientMax} at once`
  },
  contract_wallets: {
    forgottenPerMilli: refusalsForgottenPerMilli,
    allowed: `${refusalsMax} refusals of contract wallets a minute`
  }
} as const

const refuse = Effect.fnUntraced(function* (bound: keyof typeof budgets, excess: number) {
  const { allowed, forgottenPerMilli } = budgets[bound]
  const seconds = Math.max(1, Math.ceil((excess + 1) / forgottenPerMilli / 1_000))
  yield* retryAfter(seconds)
  return yield* new RateLimited({
    code: "rate_limited",
    error: `too many signatures from this address are in vain or being verified; try again in ${seconds} s`,
    details: yield* boundMet(bound, allowed, seconds)
  })
})

/**
 * Wrong signatures that a client may send. Verifying one takes milliseconds of the event loop, so a client that sent
 * `Limits.wrongSignaturesPerMinute` of them waits before another is looked at, and has few looked at at once. A client is
 * an address or network (`ClientAddress`): what a request claims of its wallet is not proven yet. Questions to contract
 * wallets that end with "no" have a budget of their own, `Limits.contractRefusalsPerMinute`: each costs a call of the
 * operator's node.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import { RateLimited } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import { type ContractBudget, ContractChecks } from "@muniment/trust/ContractWallets"
import { answerHeaders } from "../answerHeaders.ts"
import { clientOf, type TrustedProxies } from "./ClientAddress.ts"

export class SignatureBudget extends Context.Service<
  SignatureBudget,
  {
    /** Runs a verification for the client of the request, if it may have one; `isWrong` judges its outcome. */
    readonly through: <A, E, R>(
      verification: Effect.Effect<A, E, R>,
      isWrong: (outcome: A) => boolean
    ) => Effect.Effect<A, E | RateLimited, R | HttpServerRequest.HttpServerRequest>
    /** Bounds what an authenticated request asks of contract wallets, as its grants do. */
    readonly bounded: <A, E, R>(
      handler: Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E, R | HttpServerRequest.HttpServerRequest>
  }
>()("muniment/server/SignatureBudget") {
  static readonly layer = (trusted: TrustedProxies) => Layer.sync(this, () => make(trusted))
}

const make = (trusted: TrustedProxies): SignatureBudget["Service"] => {
  const clients = new Map<string, Client>()

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
    through: (verification, isWrong) =>
      Effect.gen(function* () {
        const client = yield* clientFor(yield* HttpServerRequest.HttpServerRequest)
        if (client.wrong >= wrongMax || client.underWay >= Limits.signaturesUnderWayOfClientMax) {
          return yield* refuse(client.wrong - wrongMax, wrongForgottenPerMilli)
        }
        let isUnasked = false
        const asking: ContractBudget = (question) =>
          Effect.suspend(() => {
            isUnasked = client.refusals >= refusalsMax
            return asks(client)(question)
          })
        client.underWay += 1
        const outcome = yield* verification.pipe(
          Effect.provideService(ContractChecks, asking),
          Effect.tap((outcome) => Effect.sync(() => (client.wrong += isWrong(outcome) ? 1 : 0))),
          Effect.ensuring(Effect.sync(() => (client.underWay -= 1)))
        )
        // Nobody was asked, so the signature may be right.
        if (isUnasked && isWrong(outcome))
          return yield* refuse(client.refusals - refusalsMax, refusalsForgottenPerMilli)
        return outcome
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
  /** Numbers that fall with time: wrong signatures, and contracts that refused or are being asked. */
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

const refuse = Effect.fnUntraced(function* (excess: number, forgottenPerMilli: number) {
  const seconds = Math.max(1, Math.ceil((excess + 1) / forgottenPerMilli / 1_000))
  yield* answerHeaders({ "retry-after": String(seconds) })
  return yield* new RateLimited({
    code: "rate_limited",
    error: `too many signatures from this address are wrong or being verified; try again in ${seconds} s`
  })
})

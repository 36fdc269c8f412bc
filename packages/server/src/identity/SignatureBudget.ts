/**
 * Wrong signatures that a client may send. Verifying one takes milliseconds of the event loop, so a client that sent
 * `Limits.wrongSignaturesPerMinute` of them waits before another is looked at, and has few looked at at once. A client is
 * an address or network (`ClientAddress`): what a request claims of its wallet is not proven yet.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import { RateLimited } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
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
  }
>()("muniment/server/SignatureBudget") {
  static readonly layer = (trusted: TrustedProxies) => Layer.sync(this, () => make(trusted))
}

const make = (trusted: TrustedProxies): SignatureBudget["Service"] => {
  const clients = new Map<string, Client>()

  const entryOf = (name: string): Client => {
    const known = clients.get(name) ?? { wrong: 0, asOfMillis: 0, underWay: 0 }
    // In the order of last use.
    clients.delete(name)
    clients.set(name, known)
    return known
  }

  /** Clients whose wrong signatures are forgotten, the least recently used first. */
  const forget = (nowMillis: number): void => {
    for (const [name, client] of clients) {
      refill(client, nowMillis)
      if (client.wrong > 0 || client.underWay > 0) return
      clients.delete(name)
    }
  }

  return {
    through: (verification, isWrong) =>
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        const nowMillis = yield* Clock.currentTimeMillis
        forget(nowMillis)
        const client = entryOf(clientOf(request, trusted))
        refill(client, nowMillis)
        if (client.wrong >= wrongMax || client.underWay >= Limits.signaturesUnderWayOfClientMax) {
          return yield* refuse(client)
        }
        client.underWay += 1
        return yield* verification.pipe(
          Effect.tap((outcome) => Effect.sync(() => (client.wrong += isWrong(outcome) ? 1 : 0))),
          Effect.ensuring(Effect.sync(() => (client.underWay -= 1)))
        )
      })
  }
}

interface Client {
  /** A number that falls with time. */
  wrong: number
  asOfMillis: number
  underWay: number
}

const wrongMax = Limits.wrongSignaturesPerMinute
const forgottenPerMilli = wrongMax / 60_000

const refill = (client: Client, nowMillis: number): void => {
  client.wrong = Math.max(0, client.wrong - Math.max(0, nowMillis - client.asOfMillis) * forgottenPerMilli)
  client.asOfMillis = nowMillis
}

const refuse = Effect.fnUntraced(function* ({ wrong }: Client) {
  const seconds = Math.max(1, Math.ceil((wrong + 1 - wrongMax) / forgottenPerMilli / 1_000))
  yield* answerHeaders({ "retry-after": String(seconds) })
  return yield* new RateLimited({
    code: "rate_limited",
    error: `too many signatures from this address are wrong or being verified; try again in ${seconds} s`
  })
})

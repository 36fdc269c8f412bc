/**
 * Accounts that wallets open by themselves (contract: Wallet signatures).
 *
 * Invariants: a wallet without an account is a newcomer; nothing is stored for it until a call of it stores or
 * costs something, as that call's last step before it acts, so a refused request or a 404 makes no account. Free
 * sign-ups are bounded by client and in all (`Limits.signUpsPerClientHour`, `Limits.signUpsPerHour`); paid ones by
 * the payment. A payment that was credited while its caller was away makes the account at the next request.
 */
import { Clock, Context, Effect, Layer, Semaphore } from "effect"
import { HttpServerRequest } from "effect/http"
import type { Account, Plan } from "@muniment/domain/Account"
import type { Identity, Newcomer } from "@muniment/domain/Identity"
import { Forbidden, RateLimited } from "@muniment/domain/Errors"
import type { ControlFailure } from "@muniment/control/database/ControlFailure"
import { Limits } from "@muniment/domain/Limits"
import type { MicroCredits } from "@muniment/domain/Money"
import { Wallets } from "@muniment/control/accounts/Wallets"
import type { WalletAddress } from "@muniment/trust/WalletAddress"
import { boundMet } from "../boundMet.ts"
import { retryAfter } from "../headers.ts"
import { clientOf, type TrustedProxies } from "./ClientAddress.ts"

/** `off`: only the operator opens accounts. `paid`: a deposit opens one. `open`: the first priced call does. */
export const signUpModes = ["off", "paid", "open"] as const
export type SignUpMode = (typeof signUpModes)[number]

interface SignUpOptions {
  readonly mode: SignUpMode
  readonly plan: Plan
  /** Free credits of the new account a month; undefined: without bound. */
  readonly allowance: MicroCredits | undefined
  /** Whether free sign-ups are bounded. */
  readonly isLimited: boolean
  readonly trustedProxies: TrustedProxies
}

export class WalletSignUp extends Context.Service<
  WalletSignUp,
  {
    readonly mode: SignUpMode
    /** The owner of a wallet that has proven itself; refuses newcomers when sign-up is off or used up. */
    readonly identify: (
      wallet: WalletAddress
    ) => Effect.Effect<Identity, Forbidden | RateLimited | ControlFailure, HttpServerRequest.HttpServerRequest>
  }
>()("muniment/server/WalletSignUp") {
  static readonly layer = (options: SignUpOptions) => Layer.effect(this, make(options))
}

const make = Effect.fnUntraced(function* (options: SignUpOptions) {
  const wallets = yield* Wallets
  const turns = yield* Semaphore.make(1)
  const places = new HourlyPlaces()

  const refuseWithout = (client: string, now: number) => {
    const waitMillis = options.isLimited ? places.waitMillis(client, now) : 0
    return waitMillis === 0 ? Effect.void : usedUp(waitMillis)
  }

  /** One at a time: twins of one wallet take one place. */
  const openFree = (wallet: WalletAddress, client: string) =>
    turns.withPermit(
      Effect.gen(function* () {
        if ((yield* wallets.accountOf(wallet.address)) !== undefined) return
        const now = yield* Clock.currentTimeMillis
        yield* refuseWithout(client, now)
        yield* wallets.ensureAccount(wallet, options.plan)
        places.take(client, now)
      })
    )

  const newcomer = (wallet: WalletAddress, client: string, request: HttpServerRequest.HttpServerRequest): Newcomer => ({
    allowance: options.mode === "open" ? options.allowance : 0,
    open: (how) =>
      Effect.provideService(
        how === "paid" ? Effect.asVoid(wallets.ensureAccount(wallet, options.plan)) : openFree(wallet, client),
        HttpServerRequest.HttpServerRequest,
        request
      )
  })

  return WalletSignUp.of({
    mode: options.mode,
    identify: Effect.fn("WalletSignUp.identify")(function* (wallet) {
      const { address } = wallet
      const known = yield* wallets.accountOf(address)
      if (known !== undefined) return identityOf(known, address)
      if (options.mode === "off" || (yield* wallets.isUnlinked(address))) return yield* closed()
      if (yield* wallets.hasPaid(address)) {
        return identityOf(yield* wallets.ensureAccount(wallet, options.plan), address)
      }
      const request = yield* HttpServerRequest.HttpServerRequest
      const client = clientOf(request, options.trustedProxies)
      const now = yield* Clock.currentTimeMillis
      if (options.mode === "open") yield* refuseWithout(client, now)
      const account = { id: address, name: address, plan: options.plan, createdAt: now }
      return { ...identityOf(account, address), newcomer: newcomer(wallet, client, request) }
    })
  })
})

const identityOf = (account: Account, walletAddress: string): Identity => ({
  account,
  keyId: undefined,
  walletAddress
})

const closed = () =>
  new Forbidden({
    code: "sign_up_closed",
    error: "this wallet has no account, and this service opens none for wallets by themselves: ask its operator"
  })

const signUpsAllowed = `${Limits.signUpsPerClientHour} accounts an hour from one address, ${Limits.signUpsPerHour} in all`

const usedUp = Effect.fnUntraced(function* (waitMillis: number) {
  const seconds = Math.ceil(waitMillis / 1_000)
  yield* retryAfter(seconds)
  return yield* new RateLimited({
    code: "sign_up_limited",
    error: `this service opens no more accounts for wallets now; try again in ${seconds} s`,
    details: yield* boundMet("sign_ups", signUpsAllowed, seconds)
  })
})

const hourMillis = 3_600_000

/** Sign-ups of the last hour, oldest first; at most `Limits.signUpsPerHour`. */
class HourlyPlaces {
  #taken: ReadonlyArray<{ readonly client: string; readonly at: number }> = []

  /** Milliseconds until there is a place for the client; 0: now. */
  waitMillis(client: string, now: number): number {
    this.#taken = this.#taken.filter(({ at }) => at > now - hourMillis)
    const own = this.#taken.filter((place) => place.client === client)
    return Math.max(waitFor(this.#taken, Limits.signUpsPerHour, now), waitFor(own, Limits.signUpsPerClientHour, now))
  }

  take(client: string, at: number): void {
    this.#taken = [...this.#taken, { client, at }]
  }
}

const waitFor = (taken: ReadonlyArray<{ readonly at: number }>, max: number, now: number): number =>
  taken.length < max ? 0 : taken[taken.length - max]!.at + hourMillis - now

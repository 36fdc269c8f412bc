/**
 * Admission: what the service takes on, in front of everything else (`README.md`). `Listener.ts` asks it for each
 * request, `Authorization.ts` tells it whose credentials were right, `/metrics` reads its state.
 */
import { Clock, Context, Effect, Exit, Layer, Redacted, Schedule } from "effect"
import { WebCrypto } from "effect/crypto"
import { ApiKeyStore } from "@muniment/control/accounts/ApiKeyStore"
import type { Identity } from "@muniment/domain/Identity"
import { isSameSecret } from "@muniment/trust/ApiKeys"
import { Rounds } from "@muniment/worker/Rounds"
import { DataDirectory } from "../DataDirectory.ts"
import { type TrustedProxies, clientOf, isLocalCaller } from "../identity/ClientAddress.ts"
import { Gate, type Sender } from "./Gate.ts"
import type { RefusedLine, RequestHead } from "./Refusals.ts"

export interface AdmissionOptions {
  /** Headers of a refusal, beside those that all have. */
  readonly headersFor: (request: RequestHead, randomUUID: () => string) => Readonly<Record<string, string>>
  /** The contract's pattern of a request's path. */
  readonly routeOf: (request: RequestHead) => string
  /** Writes a line of the request log; undefined if there is none. */
  readonly logRequest: ((line: RefusedLine) => Effect.Effect<void>) | undefined
  readonly trustedProxies: TrustedProxies
  /** Host of `MUNIMENT_HOST`. */
  readonly host: string
  /** The longest expected wait of a request that is let in. */
  readonly queueWaitMillis: number
}

export class Admission extends Context.Service<Admission, Gate>()("muniment/server/Admission") {
  static readonly layer = (options: AdmissionOptions) =>
    Layer.effect(
      Admission,
      Effect.gen(function* () {
        const clock = yield* Clock.Clock
        const webCrypto = yield* WebCrypto.WebCrypto
        const { operatorToken } = yield* DataDirectory
        const keys = yield* ApiKeyStore
        const run = Effect.runCallbackWith(yield* Effect.context<never>())
        const gate = new Gate({
          nowMillis: () => Number(clock.monotonicTimeNanosUnsafe()) / 1e6,
          clientOf: (request) => clientOf(request, options.trustedProxies),
          isExempt: (sender, path) =>
            healthPaths.has(path) ||
            (isOperatorRequest(sender, path, Redacted.value(operatorToken)) && isLocalCaller(sender, options.host)),
          identify: (sender, done) => {
            const secret = bearerOf(sender)
            const onExit = (exit: Exit.Exit<Identity | undefined>) =>
              done(Exit.isSuccess(exit) ? exit.value?.account : undefined)
            if (secret === "") done(undefined)
            else run(keys.authenticate(secret), { onExit })
          },
          queueWaitMillis: options.queueWaitMillis,
          routeOf: options.routeOf,
          headersFor: (request) => options.headersFor(request, () => webCrypto.randomUUID())
        })
        yield* Rounds.add({
          name: "requests that wait too long",
          schedule: Schedule.spaced(overdueRoundMillis),
          work: Effect.sync(() => gate.refuseOverdue())
        })
        if (options.logRequest !== undefined)
          yield* Rounds.add({
            name: "lines of refused requests",
            schedule: Schedule.spaced("1 second"),
            work: logRefused(gate, options.logRequest)
          })
        return gate
      })
    )
}

const overdueRoundMillis = 100

/** A line each up to the bound, and how many more there were. */
const logRefused = (gate: Gate, logRequest: (line: RefusedLine) => Effect.Effect<void>) =>
  Effect.suspend(() => {
    const { lines, unlisted } = gate.takeRefusedLines()
    const rest = unlisted === 0 ? Effect.void : Effect.logInfo("requests refused without a line", { count: unlisted })
    return Effect.andThen(Effect.forEach(lines, logRequest, { discard: true }), rest)
  })

const healthPaths: ReadonlySet<string> = new Set(["/health/live", "/health/ready"])

const isOperatorRequest = (sender: Sender, path: string, operatorToken: string): boolean => {
  if (path === "/metrics") return true
  return path.startsWith("/admin/") && isSameSecret(bearerOf(sender), operatorToken)
}

/** Empty: there is none. */
const bearerOf = ({ headers }: Sender): string => /^bearer +(\S+)$/i.exec(headers["authorization"] ?? "")?.[1] ?? ""

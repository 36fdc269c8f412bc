/**
 * One-time links to the console, with the address at which the service is reached. The token is in the fragment, which
 * browsers send to no server and proxies do not log.
 */
import { Context, Effect, Layer } from "effect"
import { HttpServer } from "effect/http"
import { localOrigin } from "../Config.ts"
import { consolePath } from "../paths.ts"
import { ConsoleSessions } from "./ConsoleSessions.ts"

export class ConsoleLinks extends Context.Service<
  ConsoleLinks,
  {
    /** Undefined: the console is switched off. */
    readonly make: Effect.Effect<{ readonly url: string; readonly expiresAt: number } | undefined>
  }
>()("muniment/server/ConsoleLinks") {
  /** `origin`: instead of the address that the service listens on. */
  static readonly layer = (options: {
    readonly isOn: boolean
    readonly host: string
    readonly origin: string | undefined
  }) =>
    Layer.effect(
      ConsoleLinks,
      Effect.gen(function* () {
        const sessions = yield* ConsoleSessions
        const { address } = yield* HttpServer.HttpServer
        const own = address._tag === "UnixPathAddress" ? "" : localOrigin(options.host, address.port)
        return {
          make: Effect.gen(function* () {
            if (!options.isOn) return undefined
            const { expiresAt, token } = yield* sessions.link
            return { url: `${options.origin ?? own}${consolePath}#link=${token}`, expiresAt }
          })
        }
      })
    )
}

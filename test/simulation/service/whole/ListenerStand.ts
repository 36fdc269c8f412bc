/** Stands in for the service's listener: the simulator sends what it serves its requests. */
import { Effect, Layer, Option, type Scope } from "effect"
import { HttpEffect, HttpServer, HttpServerRequest } from "effect/http"
import { NetAddress } from "effect/net"

type Handler = (request: Request) => Promise<Response>

let handler: Handler | undefined

/** Of the service that began to listen last. */
export const listening = (): Handler => {
  if (handler === undefined) throw new Error("no service listens")
  return handler
}

/** Callers are on this machine. */
const fromHere = <A, E, R>(served: Effect.Effect<A, E, R>) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
    const local = request.modify({ remoteAddress: Option.some("127.0.0.1") })
    return Effect.provideService(served, HttpServerRequest.HttpServerRequest, local)
  })

export const listener = () =>
  Layer.succeed(
    HttpServer.HttpServer,
    HttpServer.make({
      address: NetAddress.inetAddressUnsafe(NetAddress.ipv4Loopback, 8_787),
      serve: (served) =>
        Effect.contextWith((context) =>
          Effect.sync(() => {
            handler = HttpEffect.toWebHandlerWith<never, HttpServerRequest.HttpServerRequest | Scope.Scope>(context)(
              fromHere(served)
            )
          })
        )
    })
  )

/** In place of the look whether the address is free. */
export const demandFreeAddress = (): Effect.Effect<void> => Effect.void

/**
 * The sockets by which nodes speak to each other: TLS 1.2 with a pre-shared key (RFC 4279, RFC 5489) that is derived from
 * the secret of the cluster, and keys of each connection by an exchange over elliptic curves.
 *
 * Invariants: who does not have the secret gets no connection, as a client and as a server; what was recorded cannot be
 * read with the secret later. A handshake can be used to try guesses of the secret, so it has to be random.
 */
import { hkdfSync } from "node:crypto"
import { connect, type ConnectionOptions, type TlsOptions, type TLSSocket } from "node:tls"
import { fromDuplex } from "@effect/platform-node/NodeSocket"
import { layerTls } from "@effect/platform-node/NodeSocketServer"
import { Effect, Layer, Option, Redacted, type Scope } from "effect"
import { Runners, ShardingConfig } from "effect/cluster"
import { RpcClient, RpcSerialization } from "effect/rpc"
import { Socket, SocketError, SocketOpenError } from "effect/socket/Socket"

const keyBytes = 32
const identity = "muniment node"

/** The only suite of OpenSSL with a pre-shared key, forward secrecy and no parameters to be made. It ends with TLS 1.2. */
const suite = {
  ciphers: "ECDHE-PSK-CHACHA20-POLY1305",
  minVersion: "TLSv1.2",
  maxVersion: "TLSv1.2"
} as const satisfies TlsOptions

/** For a connection with its handshake, on either side. */
const openMillis = 2_000

/** Protocol by which nodes connect, for `clusterNodeLayer`. */
export const nodeClientProtocol = (secret: Redacted.Redacted) => {
  const key = keyOf(secret)
  return Layer.effect(
    Runners.RpcClientProtocol,
    Effect.map(RpcSerialization.RpcSerialization, (serialization) => ({
      codecFor: serialization.codecFor,
      make: Effect.fnUntraced(function* ({ host, port }: { readonly host: string; readonly port: number }) {
        const socket = yield* fromDuplex(connected(host, port, key), { openTimeout: openMillis })
        return yield* RpcClient.makeProtocolSocket().pipe(
          Effect.provideService(Socket, socket),
          Effect.provideService(RpcSerialization.RpcSerialization, serialization)
        )
      }, Effect.orDie)
    }))
  )
}

/** Where nodes listen: the address of the sharding's configuration. */
export const nodeSocketServer = (secret: Redacted.Redacted) => {
  const key = keyOf(secret)
  return Layer.unwrap(
    Effect.gen(function* () {
      const config = yield* ShardingConfig.ShardingConfig
      const { host, port } = Option.getOrThrow(Option.orElse(config.runnerListenAddress, () => config.runnerAddress))
      return layerTls({ host, port, handshakeTimeout: openMillis, ...listening(key) })
    })
  )
}

/** Options of a server of such sockets. */
export const nodeListener = (secret: Redacted.Redacted): TlsOptions => listening(keyOf(secret))

const listening = (key: Uint8Array): TlsOptions => ({
  ...suite,
  pskCallback: (_, claimed) => (claimed === identity ? key : null)
})

/** Options of a connection to such a socket. */
export const nodeConnection = (secret: Redacted.Redacted): ConnectionOptions => connecting(keyOf(secret))

const connecting = (key: Uint8Array): ConnectionOptions => ({
  ...suite,
  pskCallback: () => ({ psk: key, identity }),
  // There is no certificate: the key says who it is.
  checkServerIdentity: () => undefined
})

const connected = (host: string, port: number, key: Uint8Array): Effect.Effect<TLSSocket, SocketError, Scope.Scope> => {
  const options: ConnectionOptions = { host, port, ...connecting(key) }
  return Effect.flatMap(
    Effect.acquireRelease(
      Effect.sync(() => connect(options)),
      (socket) => Effect.sync(() => void (socket.closed ? undefined : socket.destroySoon()))
    ),
    (socket) =>
      Effect.callback<TLSSocket, SocketError>((resume) => {
        socket.once("secureConnect", () => resume(Effect.succeed(socket)))
        socket.on("error", (cause) =>
          resume(Effect.fail(new SocketError({ reason: new SocketOpenError({ kind: "Unknown", cause }) })))
        )
      })
  )
}

const keyOf = (secret: Redacted.Redacted): Uint8Array =>
  new Uint8Array(hkdfSync("sha256", Redacted.value(secret), "", "muniment node sockets", keyBytes))

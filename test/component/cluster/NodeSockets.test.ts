/** Who gets an answer on a node's port: a call of Effect's RPC over real sockets, with and without the cluster's secret. */
import { connect as connectPlain, createServer, type Server, type Socket } from "node:net"
import { connect as connectTls } from "node:tls"
import { expect } from "vitest"
import { Effect, Layer, Option, Redacted, Schema } from "effect"
import { RunnerAddress, Runners, ShardingConfig } from "effect/cluster"
import { Rpc, RpcClient, RpcGroup, RpcSerialization, RpcServer } from "effect/rpc"
import { nodeClientProtocol, nodeSocketServer } from "@muniment/cluster/nodes/NodeSockets"
import { freePort } from "../../support/TestServer.ts"
import { it } from "../../support/it.ts"

const Calls = RpcGroup.make(Rpc.make("Echo", { payload: { text: Schema.String }, success: Schema.String }))

const ours = Redacted.make("the secret of these nodes, known to nobody else")
const theirs = Redacted.make("the secret of other nodes, known to nobody else")

/** A node's server that notes what it was asked; until the scope closes. */
const listening = Effect.gen(function* () {
  const port = yield* Effect.promise(freePort)
  const asked: Array<string> = []
  const handlers = Calls.toLayer({
    Echo: ({ text }) =>
      Effect.sync(() => {
        asked.push(text)
        return text
      })
  })
  yield* Layer.build(
    RpcServer.layer(Calls).pipe(
      Layer.provide(handlers),
      Layer.provide(RpcServer.layerProtocolSocketServer),
      Layer.provide(nodeSocketServer(ours)),
      Layer.provide(ShardingConfig.layer({ runnerAddress: Option.some(RunnerAddress.make("127.0.0.1", port)) })),
      Layer.provide(RpcSerialization.layerSchemaBinary())
    )
  )
  return { port, asked }
})

const echo = (port: number, secret: Redacted.Redacted, text: string) =>
  Effect.gen(function* () {
    const protocol = yield* (yield* Runners.RpcClientProtocol).make(RunnerAddress.make("127.0.0.1", port))
    const client = yield* Effect.provideService(RpcClient.make(Calls), RpcClient.Protocol, protocol)
    return yield* client.Echo({ text })
  }).pipe(
    Effect.scoped,
    Effect.provide(nodeClientProtocol(secret).pipe(Layer.provide(RpcSerialization.layerSchemaBinary())))
  )

/** Whatever the port says to a client until it closes the connection. */
const answerTo = (socket: Socket, bytes: string | undefined) =>
  Effect.callback<number>((resume) => {
    let received = 0
    if (bytes !== undefined) socket.write(bytes)
    socket.on("data", (chunk) => (received += chunk.length))
    // A reset is an end too.
    socket.on("error", () => undefined)
    socket.on("close", () => resume(Effect.succeed(received)))
  })

it.live("a node with the secret is answered, a node with another one never reaches the calls", function* () {
  const { asked, port } = yield* listening
  expect(yield* echo(port, ours, "among us")).toBe("among us")
  expect((yield* Effect.exit(echo(port, theirs, "from outside")))._tag).toBe("Failure")
  expect(yield* echo(port, ours, "again")).toBe("again")
  expect(asked).toEqual(["among us", "again"])
})

it.live("a stranger gets no byte of an answer: plain bytes, silence, TLS without a key", function* () {
  const { asked, port } = yield* listening
  const plain = () => connectPlain({ host: "127.0.0.1", port })
  // At most a TLS alert of seven bytes.
  expect(yield* answerTo(plain(), "GET / HTTP/1.1\r\nhost: x\r\n\r\n")).toBeLessThanOrEqual(7)
  expect(yield* answerTo(plain(), undefined)).toBeLessThanOrEqual(7)
  const tls = connectTls({ host: "127.0.0.1", port, rejectUnauthorized: false })
  const agreed: Array<string> = []
  tls.on("secureConnect", () => agreed.push("agreed"))
  expect(yield* answerTo(tls, undefined)).toBe(0)
  expect(agreed).toEqual([])
  expect(asked).toEqual([])
})

it.live("a node sends nothing of a call to a port that does not have the secret", function* () {
  const received: Array<Buffer> = []
  const server = yield* Effect.acquireRelease(
    Effect.callback<Server>((resume) => {
      const made = createServer((socket) => {
        socket.on("error", () => undefined)
        socket.on("data", (chunk) => {
          received.push(chunk)
          socket.end("no TLS here")
        })
      })
      made.listen(0, "127.0.0.1", () => resume(Effect.succeed(made)))
    }),
    (made) => Effect.sync(() => void made.close())
  )
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  expect((yield* Effect.exit(echo(port, ours, "a private memory")))._tag).toBe("Failure")
  expect(received.length).toBeGreaterThan(0)
  expect(Buffer.concat(received).includes("private")).toBe(false)
})
